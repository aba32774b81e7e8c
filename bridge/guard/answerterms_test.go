package guard_test

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/guard"
)

// The terms of a question name all rules that ask about a part of the command, by their text and not by their
// place.
func TestAnswerTermsNameTheRules(t *testing.T) {
	const text, first, second = gatePolicy, "[[policy.rule]]\ncommand = \"make **\"\ndecision = \"ask\"\n", "[[policy.rule]]\ncommand = \"ls\"\ndecision = \"ask\"\n"
	terms := func(text, command string) []string {
		c, g, w := converse(t, text, guard.NoRecord)
		startThread(c, "untrusted")
		r := g.Tool(t.Context(), "t1", "", bash(t, command, w.StartFolder), nil)
		if !r.Ask {
			t.Errorf("%q is not asked about", command)
		}
		return r.AnswerTerms.AskedBy
	}
	one := terms(text+first, "make all")
	if len(one) != 1 || len(terms(text, "make all")) != 0 {
		t.Errorf("a rule asks: %q", one)
	}
	if moved := terms(text+second+first, "make all"); !slices.Equal(moved, one) {
		t.Errorf("at another place: %q, want %q", moved, one)
	}
	if both := terms(text+first+second, "make all && ls"); len(both) != 2 || !slices.Contains(both, one[0]) {
		t.Errorf("two rules ask: %q", both)
	}
}
