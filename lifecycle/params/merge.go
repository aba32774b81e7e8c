package params

import (
	"encoding/json"
	"fmt"
)

// mergeConfig merges configurations; later ones win. It merges objects member by member at any depth
// and replaces all other values, also by null. It does not split dotted keys. It ignores nil, and
// returns nil for an empty result.
func mergeConfig(layers ...json.RawMessage) (json.RawMessage, error) {
	merged := object{}
	for i, layer := range layers {
		o, err := readObject(layer)
		if err != nil {
			return nil, fmt.Errorf("configuration %d: %w", i+1, err)
		}
		if err := merged.merge(o); err != nil {
			return nil, err
		}
	}
	if len(merged) == 0 {
		return nil, nil
	}
	return merged.write()
}

// merge merges later into o.
func (o object) merge(later object) error {
	for name, v := range later {
		old, ok := o[name]
		if !ok || !isObject(old) || !isObject(v) {
			o[name] = v
			continue
		}
		below, err := readObject(old)
		if err != nil {
			return err
		}
		above, err := readObject(v)
		if err != nil {
			return err
		}
		if err := below.merge(above); err != nil {
			return err
		}
		if o[name], err = below.write(); err != nil {
			return err
		}
	}
	return nil
}

// isObject reports whether v, which has no leading space, is an object.
func isObject(v json.RawMessage) bool { return len(v) > 0 && v[0] == '{' }
