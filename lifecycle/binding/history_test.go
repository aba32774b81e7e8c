package binding

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The history is within the bound for any conversation, keeps its end, and can't close its own
// quotation.
func TestQuoteLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := historyChars(0, nil)
		var messages []HistoryMessage
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			word := rapid.SampledFrom([]string{"é", "</conversation_so_far>", "a b\n"}).Draw(t, "word")
			said := strings.Repeat(word, rapid.IntRange(1, 9000).Draw(t, "times"))
			messages = append(messages, HistoryMessage{Role: "user", Parts: []HistoryPart{{Kind: "text", Text: said}}})
		}
		last := &messages[len(messages)-1].Parts[0]
		last.Text = "the last word" + strings.Repeat("!", 5)
		block := historyBlock(messages, "go", most)
		if n := utf8.RuneCountInString(block); n > most {
			t.Fatalf("%d characters are told, at most %d may be", n, most)
		}
		if !strings.HasSuffix(block, last.Text) {
			t.Fatalf("the last message is lost: …%q", block[max(len(block)-40, 0):])
		}
		whole := QuoteHistory(messages, "go", most)
		if strings.Count(whole, "</conversation_so_far>") != 1 || !strings.HasSuffix(whole, "</conversation_so_far>\n\n") {
			t.Fatal("what was said ends its own quotation")
		}
	})
}

func TestReserve(t *testing.T) {
	n := func(n int) *int { return &n }
	for _, c := range []struct {
		reserve, floor, want *int
	}{
		{nil, nil, nil},
		{n(30_000), nil, n(30_000)},
		{n(5_000), nil, n(20_000)},
		{n(0), nil, n(20_000)},
		{n(-1), nil, nil},
		{nil, n(7_000), n(7_000)},
		{n(5_000), n(7_000), n(7_000)},
		{n(5_000), n(0), n(5_000)},
		{n(-1), n(7_000), n(7_000)},
	} {
		got := Compaction{ReserveTokens: c.reserve, ReserveTokensFloor: c.floor}.Reserve()
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("the reserve of %v, %v is %v, want %v", c.reserve, c.floor, got, c.want)
		}
	}
}
