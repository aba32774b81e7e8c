package guard

import (
	"strings"
	"testing"
)

// A thread's id must have Codex's spelling. A text that is not a UUID passes to Codex.
func TestThreadIDSpelledAsCodexDoes(t *testing.T) {
	const own = "019a0fb9-0000-7f00-8000-0123456789af"
	for id, refused := range map[string]bool{
		"": false, own: false, "t1": false, "abc": false, strings.Repeat("0", 31): false, strings.Repeat("0", 33): false, strings.Repeat("z", 32): false,
		strings.Repeat("z", 36):                false,
		strings.ToUpper(own):                   true,
		strings.ReplaceAll(own, "-", ""):       true,
		"{" + own + "}":                        true,
		"urn:uuid:" + own:                      true,
		"019a0fb90-000-7f00-8000-0123456789af": true,
		"019a0fb9-0000-7f00-8000-0123456789aF": true,
		"019a0fb9-0000-7f00-80000-123456789af": true,
		" " + own:                              true,
	} {
		err := checkIDSpelling("turn/start", id)
		if (err != nil) != refused || err != nil && !strings.Contains(string(err.Data), `"send `) {
			t.Errorf("%q: %v", id, err)
		}
		if refused && CheckThreadID(id) == nil {
			t.Errorf("%q can be the id of a thread", id)
		}
	}
	for id, ok := range map[string]bool{own: true, "t1": true, "": false, "a b": false, "a\tb": false, "a\u200bb": false, "a\xff": false, strings.Repeat("a", 129): false} {
		if err := CheckThreadID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}
