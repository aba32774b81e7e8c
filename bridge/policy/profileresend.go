package policy

import (
	"path/filepath"
	"slices"
)

// resendsProfile has the overlay define the profile with which Codex has loaded a thread that the
// client has unsubscribed from: Codex may keep the thread, or load it anew. It returns false if the
// policy does not let the thread write what the profile does. The caller has checked that the
// profile protects all required paths.
func (c *profileRule) resendsProfile(has Profile) bool {
	workspace := c.openingFolder()
	for at, access := range has.Entries {
		if access == "write" && filepath.IsAbs(at) && !(workspace != "" && Within(workspace, at)) && !c.st.OverlapsTemp(at) && !c.isAllowedRoot(at) {
			return false
		}
	}
	if !has.Defined {
		return false
	}
	c.keys = slices.DeleteFunc(slices.Clone(c.keys), func(r requiredKey) bool { return r.key == permissionsKey })
	c.keys.add(requiredKey{
		key: permissionsKey, raw: has.table(), rule: RuleProtected,
		reason: "commands must not write what governs the thread",
	})
	return true
}
