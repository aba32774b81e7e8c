package store_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// hashMember finds the hash without a JSON library. Quotes inside texts are escaped, so it matches
// once.
var hashMember = regexp.MustCompile(`,"hash":"([0-9a-f]{64})"`)

// Another implementation of RFC 8785 agrees that a line is canonical. The hash covers the line
// without its hash.
func TestLineIsCanonical(t *testing.T) {
	s := open(t, backends[0].fresh(t))
	rapid.Check(t, func(t *rapid.T) {
		given := randomDecision().Draw(t, "decision")
		if err := s.Append(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		var last decision.Entry
		for e, err := range s.Decisions(t.Context(), store.Filter{Limit: 1}) {
			if last = e; err != nil {
				t.Fatal(err)
			}
		}
		line, err := last.Line()
		if err != nil {
			t.Fatal(err)
		}
		again, err := jcs.Transform(line)
		if err != nil || string(again) != string(line) {
			t.Errorf("%v\n got %s\nwant %s", err, line, again)
		}
		checkLine(t, string(line), last.Hash)
	})
}

func checkLine(t interface{ Errorf(string, ...any) }, line, hash string) {
	found := hashMember.FindAllStringSubmatch(line, -1)
	if len(found) != 1 || found[0][1] != hash {
		t.Errorf("%s\nhas the hashes %v, want once %s", line, found, hash)
		return
	}
	if got := decision.Sum([]byte(strings.Replace(line, found[0][0], "", 1))); got != hash {
		t.Errorf("%s\nhashes to %s", line, got)
	}
}

// The example in the documentation verifies by the documented rules, and Append gives the same
// lines.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^    (\{"client".*\})$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) != 2 {
		t.Fatalf("%d lines of the export in docs/guides/approvals.md, want 2", len(lines))
	}
	s := open(t, backends[0].fresh(t))
	previous := zeroHash
	for i, match := range lines {
		line := match[1]
		var e struct {
			decision.Record
			Time, Previous, Hash string
			Seq                  int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Seq != i+1 || e.Previous != previous {
			t.Errorf("line %d does not follow the one before", i+1)
		}
		checkLine(t, line, e.Hash)
		previous = e.Hash
		if e.Record.Time, err = time.Parse(time.RFC3339, e.Time); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), e.Record); err != nil {
			t.Fatal(err)
		}
		got, err := readEntries(t, s, store.Filter{Limit: 1})[0].Line()
		if err != nil || string(got) != line {
			t.Errorf("%v\n got %s\nwant %s", err, got, line)
		}
	}
	if want := previous + ":2"; !strings.Contains(string(text), want) {
		t.Errorf("docs/guides/approvals.md has no head %s", want)
	}
}

// randomDecision returns texts that a client could send.
func randomDecision() *rapid.Generator[decision.Record] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "turn/start", `","hash":"` + zeroHash + `"`, "\x00", "\xed\xa0\x80", "\u2028<&>", "\x1b[31m", "𝒳", "1e400",
	}))
	return rapid.Custom(func(t *rapid.T) decision.Record {
		return decision.Record{
			Time:   time.UnixMicro(rapid.Int64Range(-62135596800_000000+1, 253402300799_999999).Draw(t, "time")),
			Client: text.Draw(t, "client"), Thread: text.Draw(t, "thread"), Turn: text.Draw(t, "turn"),
			Method: text.Draw(t, "method"), Verdict: text.Draw(t, "verdict"), Mode: text.Draw(t, "mode"),
			Rule: text.Draw(t, "rule"), Reason: text.Draw(t, "reason"), Origin: text.Draw(t, "origin"),
			Fields:  rapid.SliceOfN(text, 0, 4).Draw(t, "fields"),
			Message: rapid.SampledFrom([]string{"", decision.Sum(nil)}).Draw(t, "message"),
			Facts:   text.Draw(t, "facts"),
		}
	})
}
