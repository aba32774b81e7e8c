package policy

const defaultPermissionsKey = "default_permissions"

// requireDefaultPermissions has the overlay name a profile beside the profiles that it defines:
// that of a workspace-write thread, and else one that lets commands write nothing.
//
// Measured with Codex 0.169: the fields sandbox and permissions of a thread, and the sandbox and
// profile of its turns, count before default_permissions. Codex reads the overlay again without
// them for app/read of the thread and for a subagent with a role, and fails if it has profiles and
// no default_permissions.
func (c *profileRule) requireDefaultPermissions(to Level, variant profileVariant) {
	name := builtinProfiles[ReadOnly]
	if to == WorkspaceWrite || variant.readOnly {
		name = c.profile.nameOf(variant)
	}
	c.keys.add(requiredKey{
		key: defaultPermissionsKey, raw: JSONString(name), rule: RuleProtected,
		reason: "Codex does not read profiles without a default",
	})
}
