package policy

import (
	"cmp"

	"codex-bridge.example/rpc"
)

// threadSandbox is the sandbox that a request gives the thread that it opens.
type threadSandbox struct {
	level          Level  // the highest level that the thread can have
	builtinProfile bool   // a permissions profile gives the level
	userSandbox    bool   // the user's own profile gives it
	mode           string // SentSettings.Sandbox; "" if the request names none
	fewerRoots     bool   // the thread has fewer writable roots than Codex's configuration
}

// sandboxRule decides about the sandbox of a thread that opens.
type sandboxRule struct {
	*folders
	project project
	overlay overlaySettings

	found threadSandbox
	keys  requiredKeys // that the overlay must have
}

// decideThreadSandbox checks sandbox and permissions of a request that opens a thread. keys are those that the
// overlay must have; it returns them with its own. It may narrow State.Defaults.
func decideThreadSandbox(in folders, at project, o overlaySettings, keys requiredKeys) (threadSandbox, requiredKeys) {
	c := sandboxRule{folders: &in, project: at, overlay: o, keys: keys}
	c.decide()
	return c.found, c.keys
}

func (c *sandboxRule) decide() {
	mode, profile := c.params.Get("sandbox"), c.params.Get("permissions")
	if user := c.userProfile(); user != nil && user.Problem != "" {
		c.refuseUser(user, user.Problem)
		return
	}
	switch {
	case !IsUnset(mode):
		asked, _ := levelNamed(mode, modeNames[:])
		if c.dropOtherSandbox("permissions", profile, "sandbox", asked); c.err == nil {
			c.decideMode(mode)
		}
	case !IsUnset(profile):
		c.decideProfileName(profile)
	case c.overlay.readOnly:
		c.setMode(ReadOnly, RuleSandbox, askedByConfig)
	case c.overlay.beaten:
		c.decideOmittedSandbox()
	case c.overlay.workspaceWrite:
		c.decideOverlayWorkspace()
	default:
		c.decideOmittedSandbox()
	}
}

// dropOtherSandbox removes a profile beside the field of a sandbox, which counts. The profile must not be narrower.
// Measured with Codex 0.169 and 0.171: it refuses both together.
func (c *request) dropOtherSandbox(field string, profile rpc.Value, counts string, asked Level) {
	if IsUnset(profile) {
		return
	}
	if other, ok := levelNamed(profile, builtinProfiles[:]); asked != ReadOnly && (!ok || other < asked) {
		c.refuse(rpc.CodeRefused, "params."+field, RuleSandbox, "it names another sandbox than "+counts+", which allows more", "leave out one of them")
		return
	}
	c.dropField(field, RuleSandbox, "it conflicts with "+counts+", which counts")
}

// decideOverlayWorkspace decides about a request whose overlay asks for workspace-write.
//
// Measured with Codex 0.169: of one overlay, default_permissions counts before sandbox_mode.
func (c *sandboxRule) decideOverlayWorkspace() {
	to, _, reason := c.allowedLevel(WorkspaceWrite)
	if to != WorkspaceWrite || !c.params.Get("config").Get(defaultPermissionsKey).Is(builtinProfiles[WorkspaceWrite]) {
		c.setMode(to, RuleSandbox, cmp.Or(reason, askedByConfig))
		return
	}
	c.setBuiltinProfile(WorkspaceWrite, askedByConfig)
}

// setBuiltinProfile gives the thread Codex's own profile of a level.
func (c *sandboxRule) setBuiltinProfile(to Level, reason string) {
	c.found.builtinProfile = true
	c.setField(permissionsKey, JSONString(builtinProfiles[to]), RuleSandbox, reason)
	c.setLevel(to)
}

func (c *sandboxRule) decideMode(v rpc.Value) {
	asked, ok := levelNamed(v, modeNames[:])
	if !ok {
		c.setMode(ReadOnly, RuleSandbox, FormatValue(v)+" is not the name of a mode")
		return
	}
	if to, rule, reason := c.allowedLevel(asked); to != asked {
		c.setMode(to, rule, reason)
		return
	}
	c.setLevel(asked)
}

func (c *sandboxRule) decideProfileName(v rpc.Value) {
	asked, ok := levelNamed(v, builtinProfiles[:])
	if f, own := parseProfileName(TextOf(v)); own {
		// A client may send the profile that it saw in a response. The bridge decides its meaning
		// again.
		if f.readOnly {
			c.dropField("permissions", RuleProtected, "it is the bridge's profile, which means read-only")
			c.setMode(ReadOnly, RuleProtected, "it means read-only")
			return
		}
		c.dropField("permissions", RuleProtected, "it is the bridge's profile, which means workspace-write")
		to, rule, reason := c.allowedLevel(WorkspaceWrite)
		if to == WorkspaceWrite {
			rule, reason = RuleProtected, "it means workspace-write"
		}
		c.setMode(to, rule, reason)
		return
	}
	user := c.userProfile()
	if !ok && user != nil && user.Name == TextOf(v) {
		c.dropField("permissions", RuleProtected, "the bridge's profile has what it denies")
		c.decideUserSandbox(user)
		return
	}
	to, rule, reason := c.allowedLevel(asked)
	switch {
	case !ok:
		reason, rule = "the rights of the profile "+FormatValue(v)+" are unknown", RuleSandbox
		c.dropField("permissions", rule, reason)
		c.setMode(ReadOnly, rule, reason)
	case to != asked:
		c.dropField("permissions", rule, reason)
		c.setMode(to, rule, reason)
	default:
		c.found.builtinProfile = true
		c.setLevel(asked)
	}
}

// allowedLevel returns the highest allowed level up to asked, and the rule and reason if it is
// lower.
func (c *folders) allowedLevel(asked Level) (to Level, rule, reason string) {
	to, rule, reason = asked, RuleSandbox, ""
	if to > c.p.maxLevel {
		to, reason = c.p.maxLevel, asked.String()+" is more than "+c.p.maxLevel.String()
	}
	if to == WorkspaceWrite && c.isWorkspaceForbidden() {
		to, rule, reason = ReadOnly, RuleRoots, c.workspaceForbiddenReason()
	}
	if to == WorkspaceWrite && c.narrowed != "" {
		to, rule, reason = ReadOnly, RuleRoots, c.narrowed
	}
	return to, rule, reason
}

// isWorkspaceForbidden reports whether the policy forbids writing the workspace, which
// workspace-write always allows. If Codex restores the thread's folder, Verify checks it later.
func (c *folders) isWorkspaceForbidden() bool {
	if c.workspace == "" {
		return c.spec.startsThread || !c.spec.opensThread || c.p.IsInProtected(c.st.ThreadFolder)
	}
	return !WritableBelowAny(c.allowed(), c.workspace) || c.p.IsInProtected(c.workspace)
}

func (c *folders) workspaceForbiddenReason() string {
	if c.workspace == "" {
		return "the workspace is not known"
	}
	if why := c.st.unusableReason(c.workspace); why != "" {
		return "the workspace " + c.workspace + " " + why
	}
	if c.p.IsInProtected(c.workspace) {
		return "the workspace " + c.workspace + " is in, or leads to, one of policy.protected_paths; open a folder above it"
	}
	return "the workspace " + c.workspace + " is in none of the writable roots"
}

func (c *sandboxRule) decideOmittedSandbox() {
	switch d := c.st.Defaults; {
	case !c.spec.startsThread:
		c.decideResumedSandbox()
	case c.userProfile() != nil && !c.isReplaced(c.userProfile()):
		c.decideUserSandbox(c.userProfile())
	case d != nil:
		asked, profiled, ok := d.level()
		if user := c.userProfile(); user != nil {
			asked = min(asked, user.level())
		}
		if !ok {
			c.setMode(ReadOnly, RuleSandbox, "if omitted, Codex would use its profile "+d.Permissions+", whose rights are unknown")
			return
		}
		trusted := c.trustedLevel(asked)
		switch to, rule, reason := c.allowedLevel(trusted); {
		case to != trusted:
			c.setMode(to, rule, "if omitted, Codex may use its default: "+reason)
			return
		case to != asked:
			c.setMode(to, ruleTrust, trustedReason)
			return
		}
		if d.Permissions == "" && d.Sandbox == "" && c.project.addsDistrust() && c.project.trust == trustUnset {
			// Measured with Codex 0.169: the default is read-only in a folder without an entry, and
			// workspace-write in a folder with one, trusted or not.
			c.setMode(ReadOnly, ruleTrust, "if omitted, Codex would use workspace-write in a project that the bridge keeps untrusted, but read-only in an unknown one")
			return
		}
		c.found.level, c.found.builtinProfile = asked, profiled
	case c.p.maxLevel == ReadOnly:
		c.setMode(ReadOnly, RuleSandbox, "if omitted, Codex would use its default, and the policy allows only read-only")
	default:
		c.want(WantConfiguration)
		c.found.level = c.p.maxLevel
	}
}

// isReplaced reports whether Codex alone would give a thread another sandbox in place of the user's
// profile, which the thread keeps.
func (c *request) isReplaced(user *UserProfile) bool { return user.Name == c.st.Defaults.Replaced }

// decideUserSandbox decides about a request that gets the user's own profile. The bridge repeats it
// in its own profile, where it can only be narrower.
func (c *sandboxRule) decideUserSandbox(user *UserProfile) {
	to, rule, reason := c.allowedLevel(user.level())
	named := !IsUnset(c.params.Get(permissionsKey))
	switch {
	case !named && c.trustedLevel(to) < to:
		to, rule, reason = ReadOnly, ruleTrust, trustedReason
	case !user.Writes:
		rule, reason = RuleUser, user.readOnlyReason()
	case to == ReadOnly:
		reason = "the permissions profile " + user.Name + " is more: " + reason + "; the thread keeps what the profile denies"
	case user.networkOn && !c.p.network:
		c.recordChange("network", rpc.Value{}, featureOff, RuleNetwork, "the permissions profile "+user.Name+" allows the network, which the policy forbids")
		c.changes[len(c.changes)-1].Narrows = true
	}
	if to == ReadOnly {
		c.setUserReadOnly(rule, reason)
		return
	}
	c.found.level, c.found.builtinProfile, c.found.userSandbox = to, true, true
}

const trustedReason = "Codex comes to trust the project with this thread, and the project's own configuration allows no more"

// readOnlyReason says why a thread with the profile becomes read-only.
func (u *UserProfile) readOnlyReason() string {
	return "the thread keeps what the permissions profile " + u.Name + " of " + originUser +
		" denies, but the bridge lets commands write only if the profile extends :workspace and adds no writable paths"
}

// setUserReadOnly makes a thread read-only that would have the user's own profile, and tells the user.
func (c *sandboxRule) setUserReadOnly(rule, reason string) {
	c.setMode(ReadOnly, rule, reason)
	c.changes[len(c.changes)-1].Narrows = true
}

// decideResumedSandbox decides about a resume or fork without a sandbox; see takesDefault. The default can
// be danger-full-access.
func (c *sandboxRule) decideResumedSandbox() {
	p := c.p
	c.found.level = p.maxLevel
	switch {
	case p.maxLevel == ReadOnly:
		c.setMode(ReadOnly, RuleSandbox, "if omitted, Codex would use the thread's value or its default, and the policy allows only read-only")
	case p.maxLevel == WorkspaceWrite && c.isWorkspaceForbidden():
		c.setMode(ReadOnly, RuleRoots, c.workspaceForbiddenReason())
	case (c.overlayWritesWorkspace() || c.overlay.beaten) && !c.st.UnknownThread:
		c.decideDefaultOfOverlay()
	case c.keepsUnsubscribed():
	case c.keepsUnknownReadOnly():
	case c.st.Defaults != nil && !c.isDefaultAllowed():
		c.decideForbiddenDefault()
	}
}

// isDefaultAllowed reports whether the policy allows Codex's default sandbox, and all writable roots of its
// configuration. These stay with a thread that a turn gives workspace-write.
func (c *folders) isDefaultAllowed() bool {
	asked, profiled, ok := c.st.Defaults.level()
	if to, _, _ := c.allowedLevel(asked); !ok || to != asked {
		return false
	}
	if profiled {
		return true
	}
	_, loose := c.allowedDefaultRoots()
	return !loose && (asked != WorkspaceWrite || !c.opensDefaultNetwork())
}

func (c *sandboxRule) setMode(to Level, rule, reason string) {
	c.setField("sandbox", JSONString(to.String()), rule, reason)
	if rule == RuleRoots {
		c.changes[len(c.changes)-1].Narrows = true
	}
	c.setLevel(to)
}

// setLevel stores the level that the request names.
func (c *sandboxRule) setLevel(l Level) {
	c.found.level = l
	c.found.mode = l.String()
}
