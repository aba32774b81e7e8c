package policy

import "slices"

// lookAlikes takes out what reads like a policed field and is none of this
// method. Measured: codex 0.169.0 ignores approval_policy, sandboxMode and the
// like; a later one may know an alias, or the field in one more method, and then
// it must not find a value there that nobody judged.
func (c *call) lookAlikes() {
	if c.familiar() {
		return
	}
	for key := range c.params.Members() {
		if slices.Contains(c.row.known, key) {
			continue
		}
		if name, ok := c.p.policed[fold(key)]; ok {
			reason := "it reads like " + name + ", which codex may take it for one day"
			if key == name {
				reason = "it is not a field of this method, but may become one"
			}
			c.dropField(key, "policy.mode", reason)
		}
	}
}

// familiar tells, without an allocation, that all members are known ones: the
// common case.
func (c *call) familiar() bool {
	n := 0
	for _, name := range c.row.known {
		if c.params.Get(name).Exists() {
			n++
		}
	}
	return n == c.params.Len()
}
