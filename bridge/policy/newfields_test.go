package policy_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// A method that passes without a check loses the fields that Codex's schema lacks. policy.unknown_methods allows
// them, and without a policy nothing changes.
func TestNewFieldsOfPassingMethods(t *testing.T) {
	const line = `{"id":1,"method":"model/list","params":{"limit":5,"later":true}}`
	const without = `{"id":1,"method":"model/list","params":{"limit":5}}`
	for name, c := range map[string]struct {
		change func(*config.Policy)
		want   string
	}{
		"removed":          {func(*config.Policy) {}, without},
		"unknown allowed":  {func(p *config.Policy) { p.UnknownMethods = "allow" }, line},
		"method allowed":   {func(p *config.Policy) { p.Methods = map[string]string{"model/list": "allow"} }, without},
		"without a policy": {func(p *config.Policy) { p.Mode = config.Off }, line},
	} {
		cfg := config.Default().Policy
		cfg.Mode = config.Enforce
		c.change(&cfg)
		d := newPolicyOf(t, cfg).Decide(message(t, line), policy.State{})
		if got := string(d.Message); d.Err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, d.Err, c.want)
		}
	}
}
