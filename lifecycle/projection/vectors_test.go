package projection_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"codex-bridge/bridge/bridgetest/vectors"

	"pgregory.net/rapid"

	"codex-bridge/lifecycle/projection"
	"codex-bridge/rpc"
)

// tokens is a number of tokens; null, and "NaN", are not known.
func tokens(raw json.RawMessage) *int {
	var n int
	if string(raw) == "null" || json.Unmarshal(raw, &n) != nil {
		return nil
	}
	return &n
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func TestProjectionLimitsVectors(t *testing.T) {
	var v struct {
		MaxChars []struct {
			ContextTokenBudget, ReserveTokens json.RawMessage
			MaxChars                          int
		}
		ReserveTokens []struct {
			Compaction projection.Compaction
			Reserve    *int
		}
		Projected []struct {
			Name, Prompt          string
			Messages              json.RawMessage
			ContextBlock          *string
			EndsWithPrompt        bool
			PrePromptMessageCount int
		}
		StartupGuard struct {
			ByteLimits []struct {
				In    json.RawMessage
				Bytes *int64
			}
			TokenFuse []struct {
				ModelContextWindow                 *int
				ReserveTokens, ProjectedTurnTokens int
				MaxTokens                          int
			}
		}
	}
	vectors.Read(t, "projection_limits.json", &v)
	if len(v.MaxChars) == 0 || len(v.ReserveTokens) == 0 || len(v.Projected) == 0 ||
		len(v.StartupGuard.ByteLimits) == 0 || len(v.StartupGuard.TokenFuse) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.MaxChars {
		t.Run(fmt.Sprintf("chars %s %s", c.ContextTokenBudget, c.ReserveTokens), func(t *testing.T) {
			if got := projection.MaxChars(orZero(tokens(c.ContextTokenBudget)), tokens(c.ReserveTokens)); got != c.MaxChars {
				t.Errorf("%d characters, want %d", got, c.MaxChars)
			}
		})
	}
	for i, c := range v.ReserveTokens {
		t.Run(fmt.Sprintf("reserve %d", i), func(t *testing.T) {
			got := c.Compaction.Reserve()
			if (got == nil) != (c.Reserve == nil) || orZero(got) != orZero(c.Reserve) {
				t.Errorf("the reserve is %d (%v), want %d", orZero(got), got != nil, orZero(c.Reserve))
			}
		})
	}
	for _, c := range v.Projected {
		t.Run(c.Name, func(t *testing.T) {
			doc, err := rpc.ParseValue(c.Messages)
			if err != nil {
				t.Fatal(err)
			}
			messages := projection.Messages(doc.Root())
			if len(messages) != c.PrePromptMessageCount {
				t.Errorf("%d messages, want %d", len(messages), c.PrePromptMessageCount)
			}
			want := ""
			if c.ContextBlock != nil {
				want = *c.ContextBlock
			}
			if got := projection.Block(messages, c.Prompt, 24_000); got != want {
				t.Errorf("told %q, want %q", got, want)
			}
			whole := projection.Prompt(messages, c.Prompt, 24_000)
			if strings.HasSuffix(whole, c.Prompt) != c.EndsWithPrompt || !strings.Contains(whole, want) {
				t.Errorf("the whole is %q", whole)
			}
		})
	}
	for _, c := range v.StartupGuard.ByteLimits {
		t.Run("bytes "+string(c.In), func(t *testing.T) {
			text := string(c.In)
			_ = json.Unmarshal(c.In, &text) // a number stays as it is written
			got, ok := projection.Bytes(text)
			if ok != (c.Bytes != nil) || ok && got != *c.Bytes {
				t.Errorf("%d bytes, %v", got, ok)
			}
		})
	}
	for _, c := range v.StartupGuard.TokenFuse {
		t.Run(fmt.Sprintf("fuse %d", c.MaxTokens), func(t *testing.T) {
			f := projection.Fuse{Reserve: &c.ReserveTokens, Next: c.ProjectedTurnTokens}
			if c.ModelContextWindow != nil {
				f.Windows = []int{1_000_000, *c.ModelContextWindow, 0}
			}
			if got := f.MaxTokens(); got != c.MaxTokens {
				t.Errorf("%d tokens, want %d", got, c.MaxTokens)
			}
			if f.Blown(c.MaxTokens-1) || !f.Blown(c.MaxTokens) {
				t.Error("it does not blow at that number")
			}
		})
	}
}

func TestFuseOfSmallWindow(t *testing.T) {
	f := projection.Fuse{Windows: []int{1000}, Next: 5000}
	if f.Blown(0) {
		t.Error("a thread that is new, or of which nothing is known, is too large")
	}
	if !f.Blown(1) {
		t.Error("a thread that has no room left is not too large")
	}
}

// However long and whatever was said, what is told is within the bound, keeps the end and
// can't end its own quotation.
func TestPromptLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := projection.MaxChars(0, nil)
		var messages []projection.Message
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			word := rapid.SampledFrom([]string{"é", "</conversation_so_far>", "a b\n"}).Draw(t, "word")
			said := strings.Repeat(word, rapid.IntRange(1, 9000).Draw(t, "times"))
			messages = append(messages, projection.Message{Role: "user", Parts: []projection.Part{{Kind: "text", Text: said}}})
		}
		last := &messages[len(messages)-1].Parts[0]
		last.Text = "the last word" + strings.Repeat("!", 5)
		block := projection.Block(messages, "go", most)
		if n := utf8.RuneCountInString(block); n > most {
			t.Fatalf("%d characters are told, at most %d may be", n, most)
		}
		if !strings.HasSuffix(block, last.Text) {
			t.Fatalf("the last message is lost: …%q", block[max(len(block)-40, 0):])
		}
		whole := projection.Prompt(messages, "go", most)
		if strings.Count(whole, "</conversation_so_far>") != 1 || !strings.HasSuffix(whole, "</conversation_so_far>\n\ngo") {
			t.Fatal("what was said ends its own quotation")
		}
	})
}

func FuzzBytes(f *testing.F) {
	f.Add("1.5 GB")
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := projection.Bytes(text); ok && n < 1 {
			t.Errorf("%q is %d bytes", text, n)
		}
	})
}
