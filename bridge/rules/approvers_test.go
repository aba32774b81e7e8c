package rules_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// Each part of a line, and each layer, adds its approvers; of one group the greatest count holds. A rule with approvers is stricter than another
// ask rule, and no question without approvers hides it.
func TestApproversOfALine(t *testing.T) {
	rule := func(command, decision, approvers string) config.Rule {
		group, counts, _ := strings.Cut(approvers, " ")
		count, _ := strconv.Atoi(counts) // 0: none is written
		return config.Rule{Command: command, Decision: decision, Approvers: group, ApproverCount: count}
	}
	set, err := rules.New([][]config.Rule{
		{rule("mkdir **", "ask", ""), rule("deploy **", "ask", "release"), rule("rm **", "deny", ""), rule("make **", "allow", ""), rule("make **", "ask", "release")},
		{rule("deploy prod", "ask", "security"), rule("sign **", "ask", "security"), rule("deploy all", "ask", "release 3"), rule("tag **", "ask", "release 2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		line      string
		e         rules.Escalation
		decision  rules.Decision
		approvers []string
	}{
		{"ls", rules.Sandboxed, rules.None, nil},
		{"mkdir a", rules.Sandboxed, rules.Ask, nil},
		{"deploy test", rules.Sandboxed, rules.Ask, []string{"release"}},
		{"deploy prod", rules.Sandboxed, rules.Ask, []string{"release", "security"}},
		{"mkdir a && deploy test", rules.Sandboxed, rules.Ask, []string{"release"}},
		{"sign a; mkdir a; deploy test", rules.Sandboxed, rules.Ask, []string{"release", "security"}},
		{"sudo deploy test", rules.Sandboxed, rules.Ask, []string{"release"}},
		{"bash -c 'sign a'", rules.Sandboxed, rules.Ask, []string{"security"}},
		{"$CMD test", rules.Sandboxed, rules.Deny, nil},
		{"sign a; rm b", rules.Sandboxed, rules.Deny, nil},
		{"deploy all", rules.Sandboxed, rules.Ask, []string{"3 of release"}},
		{"deploy test; tag a", rules.Sandboxed, rules.Ask, []string{"2 of release"}},
		{"tag a; deploy all; sign b", rules.Sandboxed, rules.Ask, []string{"3 of release", "security"}},
		{"make all", rules.Sandboxed, rules.Allow, nil},
		{"make all", rules.Escalated, rules.Ask, []string{"release"}},
	} {
		m := set.Shell(test.line, "bash", test.e, dirs)
		if m.Decision == rules.Deny {
			m.Approvers = nil // they do not count
		}
		var approvers []string
		for _, q := range m.Approvers {
			approvers = append(approvers, q.String())
		}
		if m.Decision != test.decision || !slices.Equal(approvers, test.approvers) {
			t.Errorf("%s: %v by %v", test.line, m.Decision, m.Approvers)
		}
		if m.Approvers != nil && m.Rule.Approvers == "" {
			t.Errorf("%s: the rule is %+v", test.line, *m.Rule)
		}
	}
}
