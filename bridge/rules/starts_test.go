package rules_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

func TestRulesThatHoldWhereProgramsStart(t *testing.T) {
	for _, test := range []struct {
		rule config.Rule
		want bool
	}{
		{config.Rule{Command: "git push **", Decision: "deny"}, true},
		{config.Rule{Command: "git", Decision: "ask"}, true},
		{config.Rule{Command: "/usr/bin/git **", Decision: "ask"}, true},
		{config.Rule{Command: "{git,hg} **", Decision: "deny"}, true},
		{config.Rule{Command: "git**", Decision: "deny"}, true},
		{config.Rule{Tool: "shell", Command: "git **", Decision: "deny"}, true},
		{config.Rule{Command: "git push **", Decision: "allow"}, false},
		{config.Rule{Command: "**", Decision: "deny"}, false},
		{config.Rule{Command: "* **", Decision: "deny"}, false},
		{config.Rule{Command: "** --force **", Decision: "deny"}, false},
		{config.Rule{Command: "* push", Decision: "deny"}, false},
		{config.Rule{Tool: "shell", Decision: "deny"}, false},
		{config.Rule{Path: "**", Decision: "deny"}, false},
		{config.Rule{Command: "git **", Path: "**", Decision: "deny"}, false},
		{config.Rule{Command: "A=1 git **", Decision: "deny"}, false},
		{config.Rule{Command: "kill **", Decision: "deny"}, false},
		{config.Rule{Command: "/bin/KILL **", Decision: "deny"}, false},
		{config.Rule{Command: "{git,kill} **", Decision: "deny"}, false},
		{config.Rule{Command: "e*o x", Decision: "ask"}, false},
		{config.Rule{Command: `\[ **`, Decision: "ask"}, false},
		{config.Rule{Command: "[[] **", Decision: "ask"}, false},
		{config.Rule{Command: "bash **", Decision: "ask"}, true},
	} {
		if got, err := rules.HoldsAtStart(test.rule); got != test.want || err != nil {
			t.Errorf("%+v: %v, %v", test.rule, got, err)
		}
	}
}
