package policy_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
)

// Policies are compared by what they were compiled from, and not by the lines of their rules.
func TestPoliciesAreEqual(t *testing.T) {
	rule := func(layer config.Layer, line int, reason string) config.Rule {
		return config.Rule{Command: "git push **", Decision: "deny", Reason: reason, Origin: config.Origin{Layer: layer, File: "f", Line: line}}
	}
	with := func(change func(*config.Policy)) config.Policy {
		cfg := contract()
		cfg.Rules = []config.Rule{rule(config.User, 1, "no")}
		if change != nil {
			change(&cfg)
		}
		return cfg
	}
	p := compile(t, with(nil))
	for name, test := range map[string]struct {
		change func(*config.Policy)
		equal  bool
	}{
		"nothing":             {nil, true},
		"a rule's line":       {func(c *config.Policy) { c.Rules[0] = rule(config.User, 7, "no") }, true},
		"a rule's reason":     {func(c *config.Policy) { c.Rules[0] = rule(config.User, 1, "never") }, false},
		"a rule's layer":      {func(c *config.Policy) { c.Rules[0] = rule(config.Managed, 1, "no") }, false},
		"no rule":             {func(c *config.Policy) { c.Rules = nil }, false},
		"the mode":            {func(c *config.Policy) { c.Mode = config.Audit }, false},
		"the approvals":       {func(c *config.Policy) { c.Approval = []string{"on-request", "untrusted"} }, false},
		"models, none at all": {func(c *config.Policy) { c.Models = []string{} }, false},
		"a method":            {func(c *config.Policy) { c.Methods = map[string]string{"turn/start": "deny"} }, false},
	} {
		if got := p.Equal(compile(t, with(test.change))); got != test.equal {
			t.Errorf("%s: equal %v", name, got)
		}
	}
}
