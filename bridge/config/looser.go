package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// LooserKeys returns the keys by which later may allow what earlier does not, sorted. It does not compare the
// rules, nor the limits of tools.
func LooserKeys(earlier, later *Config) []string {
	switch {
	case earlier.Policy.Mode == Off:
		return nil
	case later.Policy.Mode == Off:
		return []string{"policy.mode"}
	}
	var keys []string
	a, b := reflect.ValueOf(earlier).Elem(), reflect.ValueOf(later).Elem()
	for key, o := range tighten {
		if o.merge == nil || strings.HasSuffix(key, "*") || strings.HasPrefix(key, "tool_limits.") {
			continue
		}
		if parts := strings.Split(key, "."); o.isLooser(get(a, parts), get(b, parts)) {
			keys = append(keys, key)
		}
	}
	keys = append(keys, looserMethods(earlier.Policy.Methods, later.Policy.Methods)...)
	for name, group := range later.Approvals.Desk.Groups {
		if was, ok := earlier.Approvals.Desk.Groups[name]; ok && !isSubset(group.Keys, was.Keys) {
			keys = append(keys, Key("approvals", "desk", "groups", name, "keys"))
		}
	}
	if n := later.Policy.Newer; n.Name != "" && n.Text != earlier.Policy.Newer.Text {
		keys = append(keys, tableKey)
	}
	commands := func(c *Config) (all []string) {
		for _, h := range c.Hooks.Handlers {
			all = append(all, h.Event+"\x00"+strings.Join(h.Command, "\x00"))
		}
		return all
	}
	if !isSubset(commands(earlier), commands(later)) { // a handler may deny
		keys = append(keys, "hooks.handler")
	}
	slices.Sort(keys)
	return keys
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// looserMethods returns the keys of methods with a verdict in later that is looser than that in earlier.
func looserMethods(earlier, later map[string]string) (keys []string) {
	rank := map[string]int{"allow": 0, "": 1, "ask": 1, "deny": 2} // "": as the table of methods says
	for method := range maps.Keys(merged(earlier, later)) {
		if was, is := earlier[method], later[method]; rank[is] < rank[was] || was == "ask" && is == "" {
			keys = append(keys, Key("policy", "methods", method))
		}
	}
	return keys
}

func merged(a, b map[string]string) map[string]string {
	all := make(map[string]string)
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// isLooser reports whether a key's later value allows more than the earlier one.
func (o order) isLooser(earlier, later reflect.Value) bool {
	if equal(earlier, later) {
		return false
	}
	list, isList := earlier.Interface().([]string)
	if isList && o.neither != nil && (len(list) == 0 || later.Len() == 0) {
		return len(list) == 0
	}
	result, ok := o.merge(earlier, later)
	if !ok || !isList {
		return !ok
	}
	// A list that removes a protected path, or puts a looser value first, changes in the merge.
	other := later.Interface().([]string)
	kept := result.Interface().([]string)
	return slices.ContainsFunc(kept, func(s string) bool { return !slices.Contains(other, s) }) ||
		o.neither != nil && len(kept) > 0 && kept[0] != other[0]
}
