package policy

import "codex-bridge/bridge/methods"

// lookAlikes takes out what is no known field of this method: what nobody has
// judged, unless policy.unknown_methods lets it, and in any case what reads like a
// policed field. Measured: codex 0.169.0 ignores approval_policy, sandboxMode and the
// like; a later one may know an alias, or the field in one more method, and then
// it must not find a value there that nobody judged.
func (c *call) lookAlikes() {
	for key := range c.params.Members() {
		if c.err != nil {
			return
		}
		if c.row.known[key] {
			continue
		}
		name, ok := c.p.policed[fold(key)]
		switch {
		case ok && key == name:
			c.dropField(key, ruleMode, "it is not a field of this method, but may become one")
		case ok:
			c.dropField(key, ruleMode, "it reads like "+name+", which codex may take it for one day")
		case !c.p.unknown:
			c.dropField(key, ruleUnknown, "no field of this method in codex "+methods.Measured+"; a later one may act on it")
		}
	}
}
