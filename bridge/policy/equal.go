package policy

import (
	"reflect"

	"codex-bridge.example/bridge/config"
)

// Equal reports whether two policies were compiled from the same configuration. They may stand at
// other places of their files. Policies of Within also have the same requirements.
func (p *Policy) Equal(q *Policy) bool {
	return p == q || p.required == q.required && reflect.DeepEqual(p.section, q.section)
}

// sectionOf returns what a policy is compared by. Instead of its place, each rule has the number of the file,
// since the rules of a file count together.
func sectionOf(cfg config.Policy) config.Policy {
	files := cfg.RuleLayers()
	cfg.Rules, cfg.FromWorkspace = nil, false
	for i, rules := range files {
		for _, rule := range rules {
			rule.Origin = config.Origin{Layer: rule.Origin.Layer, Line: i}
			cfg.Rules = append(cfg.Rules, rule)
		}
	}
	return cfg
}
