package policy

import "slices"

// setProfile sends the profile of that name in place of field.
func (c *request) setProfile(name, field string) {
	const reason = "the bridge's profile protects policy files and protected paths"
	if c.params.Get(field).Exists() {
		c.dropField(field, RuleProtected, reason)
	} else {
		c.ensurePatch().Delete(c.params, field)
	}
	if c.params.Get(permissionsKey).Is(name) {
		c.ensurePatch().Set(c.params, permissionsKey, JSONString(name)) // an earlier rule may have removed it
		return
	}
	c.setField(permissionsKey, JSONString(name), RuleProtected, reason)
}

// decideTurnProfile sends the profile in place of a sandboxPolicy, which would override it. It also
// names the profile if the thread's stored sandbox came back without it.
func decideTurnProfile(c folders, turn turnSandbox) {
	t := c.st.Thread
	if t == nil || !t.Profile.Defined {
		return
	}
	if c.checkTurnLinks(turn); c.err != nil {
		return
	}
	switch {
	case turn.hasPolicy:
		o := turn.policy
		f := profileVariant{network: o.network && c.p.network, noTmpdir: o.noTmpdir, noSlashTmp: o.noSlashTmp}
		for _, root := range turn.roots {
			switch {
			case Within(t.Workspace, root):
			case WithinAny(t.Profile.Roots, root):
				f.roots = true
			default:
				c.recordChange("sandboxPolicy.writableRoots", c.params.Get("sandboxPolicy").Get("writableRoots"), nil, RuleProtected,
					root+" can't become writable in a turn of this thread; add it to sandbox_workspace_write.writable_roots in Codex's configuration, or open a thread there")
			}
		}
		if barred := c.forbiddenRoot(t.Profile.Roots); f.roots && barred != "" {
			f.roots = false
			c.recordChange("sandboxPolicy.writableRoots", c.params.Get("sandboxPolicy").Get("writableRoots"), nil, RuleRoots,
				"the thread's profile would also make "+barred+" writable, which the policy forbids")
		}
		c.setProfile(t.Profile.nameOf(f), "sandboxPolicy")
	case turn.readOnly && t.Profile.HasReadOnly():
		if on, _ := c.params.Get("sandboxPolicy").Get("networkAccess").Bool(); on && c.p.network {
			c.recordChange("sandboxPolicy.networkAccess", c.params.Get("sandboxPolicy").Get("networkAccess"), featureOff, RuleUser,
				"a read-only turn that keeps what the thread's profile denies has no network")
		}
		c.setProfile(t.Profile.nameOf(profileVariant{readOnly: true}), "sandboxPolicy")
	case t.LacksProfile && !turn.readOnly && IsUnset(c.params.Get("sandboxPolicy")) && IsUnset(c.params.Get(permissionsKey)):
		c.setProfile(t.Profile.nameOf(profileVariant{readOnly: t.Sandbox == ReadOnly.String()}), "sandboxPolicy")
	}
}

// checkTurnLinks is checkLinks for a turn of a thread with the profile: one that asks to write the workspace, in
// any form, or one that keeps a sandbox that may.
func (c *folders) checkTurnLinks(turn turnSandbox) {
	t, field := c.st.Thread, "params.threadId"
	for _, name := range []string{permissionsKey, "sandboxPolicy"} {
		if !IsUnset(c.params.Get(name)) {
			field = "params." + name
		}
	}
	keeps := field == "params.threadId" && t.Sandbox == WorkspaceWrite.String() && !turn.readOnly // see narrowKeptSandbox
	if !keeps && !turn.hasPolicy && !turn.namesBridgeProfile {
		return
	}
	folders := slices.Concat([]string{t.Workspace}, t.WorkspaceRoots(c.st), c.newlyWritable)
	named, _ := parseProfileName(TextOf(c.params.Get(permissionsKey)))
	if turn.namesBridgeProfile && named.roots || slices.ContainsFunc(turn.roots, func(root string) bool { return WithinAny(t.Profile.Roots, root) }) {
		folders = append(folders, t.Profile.Roots...)
	}
	if IsUnset(c.params.Get("cwd")) && t.Cwd != "" && !Within(t.Workspace, t.Cwd) {
		folders = append(folders, t.Cwd) // where the turn stays; a folder of the workspace is no root of its own
	}
	c.checkLinks(field, t.Profile.Entries, folders)
}

// lowerTurnProfile replaces the variant that a turn names if the policy now allows less. The
// profile keeps the roots and the network from the time when the thread opened.
func (c *folders) lowerTurnProfile(f profileVariant) {
	const field = "permissions"
	name := c.st.Thread.Profile.nameOf
	if !c.params.Get(field).Is(name(f)) {
		c.setField(field, JSONString(name(f)), RuleProtected, "the thread's profile has that name")
	}
	if f.network && !c.p.network {
		f.network = false
		c.setField(field, JSONString(name(f)), RuleNetwork, "the policy forbids the network")
	}
	if barred := c.forbiddenRoot(c.st.Thread.Profile.Roots); f.roots && (barred != "" || len(c.st.Thread.Profile.Roots) == 0) {
		f.roots = false
		reason := "the thread has no writable roots from Codex's configuration"
		if barred != "" {
			reason = "it makes " + barred + " writable, which the policy forbids"
		}
		c.setField(field, JSONString(name(f)), RuleRoots, reason)
	}
}

// forbiddenRoot returns the first root that the policy does not allow; "" if there is none.
func (c *folders) forbiddenRoot(roots []string) string {
	for _, root := range roots {
		if !c.isAllowedRoot(root) {
			return root
		}
	}
	return ""
}

// isAllowedRoot reports whether the policy allows a writable root of Codex's configuration.
func (c *folders) isAllowedRoot(root string) bool {
	return WritableBelowAny(c.allowed(), root) && !c.st.OverlapsSensitive(root) && !c.st.IsInPath(root) && !c.st.holdsLink(root) &&
		!c.p.IsProtected(c.allowed(), root) && !c.p.LeadsToProtected(root)
}
