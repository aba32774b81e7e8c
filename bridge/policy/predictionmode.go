package policy

// dropPredictionMode drops a field of a fork by which Codex takes the configuration of the loaded
// parent instead of the overlay, and with it the parent's features, hooks, trust and permissions
// profile.
func (c *request) dropPredictionMode(names []string) {
	for _, field := range names {
		v := c.params.Get(field)
		if on, ok := v.Bool(); !IsUnset(v) && (on || !ok) {
			c.dropField(field, RuleMode, "the fork would start from the configuration of the parent, and not from what the policy sets")
		}
	}
}
