package handlers

import (
	"maps"
	"slices"
)

// What is kept of a payload: behaviour.md's limits of a snapshot.
const (
	trimString = 4_000  // bytes of a text
	trimTotal  = 20_000 // of all texts, names included
	trimItems  = 50     // of an array or object
)

// trim is the value, shortened. The members of an object are kept in the order of
// their names.
func trim(v any) any {
	left := trimTotal
	return trimmed(v, &left)
}

func trimmed(v any, left *int) any {
	switch v := v.(type) {
	case string:
		return spend(v, left)
	case []any:
		out := []any{}
		for _, item := range v[:min(len(v), trimItems)] {
			if *left <= 0 {
				break
			}
			out = append(out, trimmed(item, left))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		names := slices.Sorted(maps.Keys(v))
		for _, name := range names[:min(len(names), trimItems)] {
			if *left <= 0 {
				break
			}
			out[spend(name, left)] = trimmed(v[name], left)
		}
		return out
	default:
		return v
	}
}

func spend(s string, left *int) string {
	s = clip(s, max(0, min(trimString, *left)))
	*left -= len(s)
	return s
}
