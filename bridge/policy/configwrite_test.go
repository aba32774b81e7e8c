package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// The length of a configuration write has bounds: a bridge that can't read Codex's configuration any
// more opens no thread.
func TestConfigWritesHaveBounds(t *testing.T) {
	p := argsPolicy(t, "")
	edits := func(n int, name, value string) string {
		one := `{"keyPath":"notice.` + name + `","value":` + value + `,"mergeStrategy":"replace"}`
		return `{"id":1,"method":"config/batchWrite","params":{"edits":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}}`
	}
	text := func(n int) string { return strings.Repeat("a", n) }
	for name, test := range map[string]struct {
		line string
		want policy.Verdict
	}{
		"100 edits":        {edits(100, "a", "true"), policy.Pass},
		"101 edits":        {edits(101, "a", "true"), policy.Deny},
		"long path":        {edits(1, text(8000), "true"), policy.Pass},
		"longer path":      {edits(1, text(9000), "true"), policy.Deny},
		"long text":        {edits(1, "a", `"`+text(60<<10)+`"`), policy.Pass},
		"longer text":      {edits(1, "a", `"`+text(64<<10)+`"`), policy.Deny},
		"longest path":     {edits(1, text(8<<10-len("notice.")), "true"), policy.Pass},
		"one byte longer":  {edits(1, text(8<<10-len("notice.")+1), "true"), policy.Deny},
		"longest text":     {edits(1, "a", `"`+text(64<<10-2)+`"`), policy.Pass},
		"a byte too much":  {edits(1, "a", `"`+text(64<<10-1)+`"`), policy.Deny},
		"longest list":     {edits(1, "a", `["`+text(64<<10-4)+`"]`), policy.Pass},
		"list of one more": {edits(1, "a", `["`+text(64<<10-3)+`"]`), policy.Deny},
		"longer list":      {edits(1, "a", `["`+text(40<<10)+`","`+text(40<<10)+`"]`), policy.Deny},
	} {
		if d := p.Decide(message(t, test.line), state()); d.Verdict != test.want {
			t.Errorf("%s: %v, %v", name, d.Verdict, d.Err)
		}
	}
}
