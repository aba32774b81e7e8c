package bridge_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge"
)

func TestMatchItemType(t *testing.T) {
	patch := bridge.MatchItemType("fileChange")
	for _, c := range []struct {
		line string
		want bool
	}{
		{`{"method":"item/started","params":{"item":{"type":"fileChange","id":"1"},"threadId":"t"}}`, true},
		{`{"method":"item/completed","params":{"item":{"type":"fileChange"}}}`, true},
		{`{"method":"item/started","params":{"item":{"type":"agentMessage","text":"fileChange"}}}`, false},
		{`{"method":"item/started","params":{"item":{"type":"agentMessage","text":"a \"fileChange\" of \"type\""}}}`, false},
		{`{"method":"item/started","params":{"item":{"type":"commandExecution","kind":"fileChange"}}}`, false},
		{`{"method":"item/started","params":{"item":{"type":"fileChanges"}}}`, false},
		// Any other form is searched, and parsed by the handler.
		{`{"method":"item/started","params":{"item":{"id":"1","type":"fileChange"}}}`, true},
		{`{"method":"item/started","params":{"threadId":"t","item":{"type":"fileChange"}}}`, true},
		{`{"params":{"item":{"type":"fileChange"}},"method":"item/started"}`, true},
		{` {"method":"item/started","params":{"item":{"type":"fileChange"}}}`, true},
		{`{"method":"item/started","params":{"item":{"id":"fileChange","type":"agentMessage"}}}`, true},
		{`{"method":"item/started","params":{"item":{"type":"\u0066ileChange","kind":"fileChange"}}}`, true},
		{`{"method":"item/started","params":{"item":{"id":"1","type":"agentMessage"}}}`, false},
		{`{"method":"item/started","params":{"item":{"type":"fileChange`, false},
		{`{"method":"item/started`, false},
		{``, false},
	} {
		if got := patch([]byte(c.line)); got != c.want {
			t.Errorf("%s: %t, want %t", c.line, got, c.want)
		}
	}
}

// A type in its usual place is found in an item of any length, without a copy.
func TestMatchItemTypeAllocs(t *testing.T) {
	line := []byte(`{"method":"item/completed","params":{"item":{"type":"commandExecution","aggregatedOutput":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	is := bridge.MatchItemType("fileChange")
	if n := testing.AllocsPerRun(100, func() { is(line) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
