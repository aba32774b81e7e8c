package rules_test

import (
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// An expired allow rule counts as absent: it hides no later rule. An expired deny or ask rule holds, and
// hides no stricter rule behind it. Without a time, each rule with an end has expired.
func TestExpiredRules(t *testing.T) {
	rule := func(decision, until string) config.Rule {
		return config.Rule{Command: "make **", Decision: decision, Until: until}
	}
	const day = "2026-03-31"
	first, last := time.Date(2026, 3, 31, 23, 59, 59, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name           string
		layers         [][]config.Rule
		before, after  rules.Decision
		escalatedAfter rules.Decision
	}{
		{"allow", [][]config.Rule{{rule("allow", day)}}, rules.Allow, rules.None, rules.None},
		{"allow before deny", [][]config.Rule{{rule("allow", day), rule("deny", "")}}, rules.Allow, rules.Deny, rules.Deny},
		{"allow before allow", [][]config.Rule{{rule("allow", day), rule("allow", "")}}, rules.Allow, rules.Allow, rules.None},
		{"ask", [][]config.Rule{{rule("ask", day)}}, rules.Ask, rules.Ask, rules.Ask},
		{"ask before deny", [][]config.Rule{{rule("ask", day), rule("deny", "")}}, rules.Ask, rules.Deny, rules.Deny},
		{"ask before allow", [][]config.Rule{{rule("ask", day), rule("allow", "")}}, rules.Ask, rules.Ask, rules.Ask},
		{"deny", [][]config.Rule{{rule("deny", day)}}, rules.Deny, rules.Deny, rules.Deny},
		{"deny before allow", [][]config.Rule{{rule("deny", day), rule("allow", "")}}, rules.Deny, rules.Deny, rules.Deny},
		{"two layers", [][]config.Rule{{rule("allow", "")}, {rule("allow", day)}}, rules.Allow, rules.Allow, rules.None},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := rules.New(test.layers)
			if err != nil {
				t.Fatal(err)
			}
			decide := func(s *rules.Set, e rules.Escalation) rules.Decision {
				return s.Shell("make all", "bash", e, dirs).Decision
			}
			for _, at := range []struct {
				name string
				set  *rules.Set
				want rules.Decision
			}{{"before", set.At(first), test.before}, {"after", set.At(last), test.after}, {"at no time", set, test.after}} {
				if got := decide(at.set, rules.Sandboxed); got != at.want {
					t.Errorf("%s: %v, not %v", at.name, got, at.want)
				}
			}
			if got := decide(set.At(last), rules.Escalated); got != test.escalatedAfter {
				t.Errorf("outside the sandbox: %v, not %v", got, test.escalatedAfter)
			}
		})
	}
}
