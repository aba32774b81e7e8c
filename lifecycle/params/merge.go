package params

import (
	"encoding/json"
	"fmt"
)

// mergeConfig merges configurations, later ones over earlier ones: objects by their members, at
// any depth; everything else is replaced, by null too. A dotted key is a key like any
// other. nil is no configuration, and so is an empty result.
func mergeConfig(layers ...json.RawMessage) (json.RawMessage, error) {
	merged := object{}
	for i, layer := range layers {
		o, err := readObject(layer)
		if err != nil {
			return nil, fmt.Errorf("configuration %d: %w", i+1, err)
		}
		if err := merged.over(o); err != nil {
			return nil, err
		}
	}
	if len(merged) == 0 {
		return nil, nil
	}
	return merged.write()
}

func (o object) over(later object) error {
	for name, v := range later {
		was, ok := o[name]
		if !ok || !isObject(was) || !isObject(v) {
			o[name] = v
			continue
		}
		below, err := readObject(was)
		if err != nil {
			return err
		}
		above, err := readObject(v)
		if err != nil {
			return err
		}
		if err := below.over(above); err != nil {
			return err
		}
		if o[name], err = below.write(); err != nil {
			return err
		}
	}
	return nil
}

// isObject tells by the first byte: a value is written without space before it.
func isObject(v json.RawMessage) bool { return len(v) > 0 && v[0] == '{' }
