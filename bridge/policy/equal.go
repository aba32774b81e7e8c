package policy

import (
	"reflect"
	"slices"

	"codex-bridge.example/bridge/config"
)

// Equal reports whether two policies were compiled from the same configuration. They may stand at
// other places of their files.
func (p *Policy) Equal(q *Policy) bool {
	return p == q || reflect.DeepEqual(p.section, q.section)
}

// sectionOf returns what a policy is compared by. It has the layer of each rule, which counts, and
// not its place.
func sectionOf(cfg config.Policy) config.Policy {
	cfg.Rules = slices.Clone(cfg.Rules)
	for i := range cfg.Rules {
		cfg.Rules[i].Origin = config.Origin{Layer: cfg.Rules[i].Origin.Layer}
	}
	return cfg
}
