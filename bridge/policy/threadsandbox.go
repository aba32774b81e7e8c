package policy

import (
	"codex-bridge/rpc"
)

const ruleSandbox = "policy.sandbox"

// threadSandbox holds sandbox and permissions of a thread request.
func (c *call) threadSandbox([]string) {
	mode, profile := c.params.Get("sandbox"), c.params.Get("permissions")
	switch {
	case !nothing(mode):
		if !nothing(profile) {
			c.dropField("permissions", ruleSandbox, "it excludes sandbox, which is the one that says what it allows")
		}
		c.modeAsked(mode)
	case !nothing(profile):
		c.profileAsked(profile)
	default:
		c.sandboxLeftOut()
	}
}

func (c *call) modeAsked(v rpc.Value) {
	asked, ok := named(v, modeNames[:])
	if !ok {
		c.setMode(readOnly, ruleSandbox, show(v)+" is not the name of a mode")
		return
	}
	if to, rule, reason := c.lower(asked); to != asked {
		c.setMode(to, rule, reason)
		return
	}
	c.settle(asked)
}

func (c *call) profileAsked(v rpc.Value) {
	asked, ok := named(v, profileNames[:])
	if _, own := fenceNamed(textOf(v)); own {
		// A client names the profile that it was told of. What it stands for is decided anew.
		c.dropField("permissions", ruleProtected, "it is the bridge's own profile, which stands for workspace-write")
		to, rule, reason := c.lower(workspaceWrite)
		if to == workspaceWrite {
			rule, reason = ruleProtected, "it stands for workspace-write"
		}
		c.setMode(to, rule, reason)
		return
	}
	to, rule, reason := c.lower(asked)
	switch {
	case !ok:
		reason, rule = "what the profile "+show(v)+" allows can't be seen", ruleSandbox
		c.dropField("permissions", rule, reason)
		c.setMode(readOnly, rule, reason)
	case to != asked:
		c.dropField("permissions", rule, reason)
		c.setMode(to, rule, reason)
	default:
		c.profiled = true
		c.settle(asked)
	}
}

// lower is the level that is left of the one asked for, and why.
func (c *call) lower(asked level) (to level, rule, reason string) {
	to, rule, reason = asked, ruleSandbox, ""
	if to > c.p.limit {
		to, reason = c.p.limit, asked.String()+" is more than "+c.p.limit.String()
	}
	if to == workspaceWrite && c.workspaceForbidden() {
		to, rule, reason = readOnly, ruleRoots, c.workspaceReason()
	}
	return to, rule, reason
}

// workspaceForbidden tells whether workspace-write, which always lets the cwd be
// written, would go beyond policy.writable_roots. The workspace of a thread that
// comes back from its file is not known yet; that is left to Verify.
func (c *call) workspaceForbidden() bool {
	if c.workspace == "" {
		return c.row.starts || !c.row.opens || c.p.inProtected(c.st.ThreadFolder)
	}
	return !belowAny(c.allowed(), c.workspace) || c.p.inProtected(c.workspace)
}

// inProtected reports whether a folder is in one of policy.protected_paths, or leads to one. It looks at the
// whole path, whatever repositories there are: a command could make one.
func (p *Policy) inProtected(folder string) bool {
	return p.leadsToProtected(folder) || p.protectsOwn(folder)
}

func (c *call) workspaceReason() string {
	if c.workspace == "" {
		return "the workspace is not known"
	}
	if why := c.st.unusable(c.workspace); why != "" {
		return "the workspace " + c.workspace + " " + why
	}
	if c.p.inProtected(c.workspace) {
		return "the workspace " + c.workspace + " lies in one of policy.protected_paths, or is on the way to one; open a folder above it"
	}
	return "the workspace " + c.workspace + " is in none of the writable roots"
}

func (c *call) sandboxLeftOut() {
	switch d := c.st.Defaults; {
	case !c.row.starts:
		c.sandboxComesBack()
	case d != nil:
		asked, profiled, ok := d.level()
		if !ok {
			c.setMode(readOnly, ruleSandbox, "left out, it would be codex's own profile "+d.Permissions+", and what that allows can't be seen")
			return
		}
		if to, rule, reason := c.lower(asked); to != asked {
			c.setMode(to, rule, "left out, it could be codex's own default: "+reason)
			return
		}
		if d.Permissions == "" && d.Sandbox == "" && c.distrusts() && c.own == unsaid {
			// Measured: in a folder of which nothing is said the default is read-only,
			// in one that is marked, trusted or not, workspace-write.
			c.setMode(readOnly, ruleTrust, "left out, a project that is kept untrusted would get workspace-write, an unknown one read-only")
			return
		}
		c.level, c.profiled = asked, profiled
	case c.p.limit == readOnly:
		c.setMode(readOnly, ruleSandbox, "left out, it would be codex's own default, and only read-only is allowed")
	default:
		c.needs, c.level = true, c.p.limit
	}
}

// sandboxComesBack: resume and fork without a sandbox. Measured: the stored one
// comes back when it was a profile or was set by a turn; one that was set by
// `sandbox` at the start does not, and codex's own default takes its place, even
// danger-full-access.
func (c *call) sandboxComesBack() {
	p := c.p
	c.level = p.limit
	switch {
	case p.limit == readOnly:
		c.setMode(readOnly, ruleSandbox, "left out, it would be the thread's own or codex's own, and only read-only is allowed")
	case p.limit == workspaceWrite && c.workspaceForbidden():
		c.setMode(readOnly, ruleRoots, c.workspaceReason())
	case c.st.Defaults != nil && !c.defaultHolds():
		to := readOnly
		if c.st.Thread != nil {
			if last, ok := levelOf(c.st.Thread.Sandbox); ok {
				to, _, _ = c.lower(last)
			}
		}
		c.setMode(to, ruleSandbox, "left out, it may become codex's own default, which is more than is allowed")
	}
}

// defaultHolds tells whether codex's own default would be inside policy.
func (c *call) defaultHolds() bool {
	asked, profiled, ok := c.st.Defaults.level()
	if !ok || c.p.limit == fullAccess {
		return ok
	}
	if to, _, _ := c.lower(asked); to != asked {
		return false
	}
	if profiled {
		return true
	}
	_, loose := c.defaultRoots()
	return !loose && (asked != workspaceWrite || !c.defaultNetwork())
}

func (c *call) setMode(to level, rule, reason string) {
	c.setField("sandbox", quote(to.String()), rule, reason)
	c.settle(to)
}

// settle is the level that the request names.
func (c *call) settle(l level) {
	c.level = l
	c.sent.Sandbox = l.String()
}
