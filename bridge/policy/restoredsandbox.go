package policy

import (
	"cmp"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// Codex restores the sandbox of a stored thread, except a workspace-write that no permissions profile
// gives, from thread/start or from a turn. In its place it takes its default, with the values of the
// configuration: workspace-write in a project that it knows, trusted or not, and else read-only. With a key
// of sandbox_workspace_write in the overlay it takes the default, too. Measured with Codex 0.169.
//
// The bridge changes two of these facts. It marks the project in each overlay, so that Codex always knows
// it. And where it defines a profile, Codex restores that profile. So it finds out itself what Codex alone
// would take, and sends no more. State.KnownFolder says which project Codex alone would know.

// takesDefault reports whether Codex alone would open the thread of a resume or fork without a sandbox with
// its default sandbox. State.StoredSandbox must be known.
func (c *sandboxRule) takesDefault() bool {
	stored := c.st.StoredSandbox
	_, own := parseProfileName(stored.Profile)
	return c.overlayWritesWorkspace() || c.overlay.beaten || stored.Mode == "" || stored.Mode == WorkspaceWrite.String() && (stored.Profile == "" || own)
}

// restoredSandbox returns the sandbox of a resume or fork without one. stays reports that Codex has the thread
// in memory and keeps its sandbox. State.Defaults must be known if takesDefault.
func (c *sandboxRule) restoredSandbox(stays bool) SandboxSettings {
	if stays && c.knowsSandbox() {
		return c.st.Thread.sandboxSettings()
	}
	stored := *c.st.StoredSandbox
	if stored.Mode == "" {
		stored = c.defaultSandbox()
	}
	if c.knowsSandbox() {
		stored = stored.Intersect(c.st.Thread.sandboxSettings())
	}
	if !stays && c.takesDefault() {
		stored = stored.Intersect(c.defaultSandbox())
	}
	return stored
}

// overlayWritesWorkspace reports whether the client's overlay has a key of sandbox_workspace_write.
func (c *request) overlayWritesWorkspace() bool {
	for key := range c.params.Get("config").Members() {
		if key == workspaceWriteKey || strings.HasPrefix(key, workspaceWriteKey+".") {
			return true
		}
	}
	return false
}

// defaultSandbox returns the sandbox of Codex's configuration. State.Defaults must be known.
func (c *folders) defaultSandbox() SandboxSettings {
	d := c.st.Defaults
	l, profiled, ok := d.level()
	switch user := d.UserProfile(); {
	case !ok, d.Permissions == "" && d.Sandbox == "" && !c.knowsProject():
		return SandboxSettings{Mode: ReadOnly.String()}
	case user != nil && !c.isReplaced(user):
		return SandboxSettings{Mode: l.String(), Network: user.networkOn}
	case profiled, l == FullAccess:
		return SandboxSettings{Mode: l.String(), Network: l == FullAccess}
	}
	return SandboxSettings{Mode: l.String(), Network: d.Network, NoTmpdir: d.NoTmpdir, NoSlashTmp: d.NoSlashTmp}
}

// knowsProject reports whether Codex alone would know the project of the folder in which it opens the thread,
// which may be another one than with the bridge.
func (c *folders) knowsProject() bool {
	if c.openingFolder() == "" && c.st.KnownFolder != "" && !c.st.UnknownThread {
		c.want(WantThreadFolder)
	}
	return c.knows(c.openingFolder()) && (c.st.OpenedIn == "" || c.knows(c.st.MovedTo))
}

// knows reports whether Codex alone would know the project of a folder: by its configuration, or because the
// request that started the thread would have made it store the project as trusted.
func (c *request) knows(folder string) bool {
	if folder != "" && folder == c.st.KnownFolder || c.userTrust(folder) != trustUnset {
		return true
	}
	keys, err := c.projectKeys(folder)
	if containsAny(c.projects().Others, keys) {
		return true
	}
	if err != nil || c.st.KnownFolder == "" {
		return false
	}
	// Measured with Codex 0.169: it stores the repository, and for a linked worktree the main one.
	stored, err := c.projectKeys(c.st.KnownFolder)
	return err == nil && slices.Contains(keys, stored[len(stored)-1])
}

// wouldTrust reports whether Codex alone may store the project of a new thread as trusted, if the thread gets more
// than read-only. Measured with Codex 0.169: it does so for a thread/start with a cwd, unless the overlay has an
// entry for the project.
func (c *request) wouldTrust() bool {
	if _, named := c.params.Get("cwd").Text(); !named || c.st.FolderAdded || !c.spec.startsThread {
		return false
	}
	for key := range c.params.Get("config").Members() {
		if key == projectsKey || strings.HasPrefix(key, projectsKey+".") {
			return false
		}
	}
	return true
}

// storesTrust reports whether Codex alone would store the project of a new thread as trusted, if the thread gets more
// than read-only. Measured with Codex 0.169 and 0.171: it stores a repository, and no other folder.
func (c *folders) storesTrust() bool {
	if !c.wouldTrust() || c.st.Repositories == nil {
		return false
	}
	roots, err := c.st.Repositories.Roots(c.openingFolder())
	return err == nil && len(roots) > 0
}

// keepsUnknownReadOnly makes a resume or fork without a sandbox read-only where Codex takes workspace-write
// only because the overlay marks the project. It reports whether it has decided.
func (c *sandboxRule) keepsUnknownReadOnly() bool {
	d := c.st.Defaults
	stays := c.m.Method == "thread/resume" && c.st.LoadedProfile != nil && !c.st.Unsubscribed // Codex keeps the thread's sandbox
	switch {
	case d == nil || d.Sandbox != "" || d.Permissions != "" || !c.project.addsDistrust() || c.knowsProject() || c.st.UnknownThread || stays:
		return false
	case c.m.Method == "thread/resume" && c.st.LoadedProfile == nil && !c.st.NotLoaded:
		c.want(WantLoadedProfile)
		return true
	case c.st.StoredSandbox == nil:
		c.want(WantStoredSandbox)
		return true
	case !c.takesDefault():
		return false
	}
	c.setMode(ReadOnly, ruleTrust, "if omitted, Codex would use workspace-write in a project that the bridge keeps untrusted, but read-only in an unknown one")
	return true
}

// keepsUnsubscribed sends the sandbox of a thread that the client opens again after thread/unsubscribe, if a mode can
// say it. Codex alone still has the thread in memory. With the bridge's overlay it loads the thread again, with its
// default in place of workspace-write. It reports whether it has decided.
func (c *sandboxRule) keepsUnsubscribed() bool {
	left := c.st.Left
	if c.m.Method != "thread/resume" || left == nil || c.st.Defaults == nil || left.Profile.Defined {
		return false
	}
	has, known := ParseMode(left.Sandbox)
	if !known || has == FullAccess || has == ReadOnly && left.Network {
		return false
	}
	to, rule, reason := c.allowedLevel(has)
	if to == WorkspaceWrite {
		c.narrowDefaults(left.sandboxSettings())
		c.narrowDefaultRoots(left.Roots)
	}
	c.setMode(to, cmp.Or(rule, RuleSandbox), cmp.Or(reason, "if omitted, Codex would take its default in place of the thread's"))
	return true
}

// narrowDefaultRoots has the overlay set those of the writable roots of Codex's configuration that a thread has.
func (c *sandboxRule) narrowDefaultRoots(has []string) {
	d := *c.st.Defaults
	kept := slices.DeleteFunc(slices.Clone(d.WritableRoots), func(path string) bool { return !slices.Contains(has, path) })
	c.found.fewerRoots = c.found.fewerRoots || len(kept) < len(d.WritableRoots)
	d.WritableRoots = kept
	c.st.Defaults = &d
}

// decideDefaultOfOverlay decides about a resume or fork without a sandbox whose overlay has keys of
// sandbox_workspace_write, or a sandbox that does not count. Codex alone takes its default, with these keys. The
// bridge sends what both that default and the stored sandbox allow: a shared Codex has the keys of a client's
// command line in the overlay, where Codex alone would restore the stored sandbox.
func (c *sandboxRule) decideDefaultOfOverlay() {
	if c.st.Defaults == nil {
		c.want(WantConfiguration)
		return
	}
	c.sendRestored(false, "with a sandbox in the config, Codex would forget that of the thread")
}

// decideForbiddenDefault decides about a resume or fork without a sandbox where the policy forbids Codex's default, or
// a part of it.
func (c *sandboxRule) decideForbiddenDefault() {
	const reason = "if omitted, Codex may use its default, which the policy does not allow"
	resumes := c.m.Method == "thread/resume"
	switch {
	case c.st.UnknownThread:
		c.setMode(ReadOnly, RuleSandbox, reason) // Codex will refuse the request, too
	case resumes && c.st.LoadedProfile == nil && !c.st.NotLoaded:
		c.want(WantLoadedProfile)
	default:
		c.sendRestored(resumes && c.st.LoadedProfile != nil && !c.st.Unsubscribed && c.knowsSandbox(), reason)
	}
}

// sendRestored sends the sandbox that Codex alone would restore or take, as far as the policy allows it. stays reports
// that Codex has the thread in memory and keeps its sandbox.
func (c *sandboxRule) sendRestored(stays bool, reason string) {
	if !stays && c.st.StoredSandbox == nil {
		c.want(WantStoredSandbox)
		return
	}
	restored := c.restoredSandbox(stays)
	last, _ := ParseMode(restored.Mode)
	to, rule, why := c.allowedLevel(last)
	switch user := c.userProfile(); {
	case stays:
	case user != nil && to != ReadOnly:
		c.decideUserSandbox(user)
		return
	case restored.Profile == builtinProfiles[to] && !c.takesDefault():
		c.setBuiltinProfile(to, "with a sandbox, a later resume would not restore the thread's profile")
		return
	case to == WorkspaceWrite:
		c.narrowDefaults(restored)
	}
	c.setMode(to, cmp.Or(rule, RuleSandbox), cmp.Or(why, reason))
}

// narrowDefaults has the overlay set the values of sandbox_workspace_write with which a workspace-write thread
// gets at most a sandbox. Writable roots of Codex's configuration count only without a profile.
func (c *sandboxRule) narrowDefaults(to SandboxSettings) {
	d := *c.st.Defaults
	const reason = "the thread does not have more"
	require := func(key, raw string) {
		c.keys.add(requiredKey{key: workspaceWriteKey + "." + key, raw: []byte(raw), rule: RuleSandbox, reason: reason})
	}
	if d.Network && !to.Network {
		require("network_access", "false")
	}
	if !d.NoTmpdir && to.NoTmpdir {
		require("exclude_tmpdir_env_var", "true")
	}
	if !d.NoSlashTmp && to.NoSlashTmp {
		require("exclude_slash_tmp", "true")
	}
	if len(d.WritableRoots) > 0 && (d.Permissions != "" || to.Profile != "") {
		require("writable_roots", "[]")
		d.WritableRoots = nil
	}
	d.Network, d.NoTmpdir, d.NoSlashTmp = to.Network, d.NoTmpdir || to.NoTmpdir, d.NoSlashTmp || to.NoSlashTmp
	c.st.Defaults = &d
}

// containsAny reports whether a list has one of the values.
func containsAny(list, values []string) bool {
	for _, one := range values {
		for _, other := range list {
			if trustKey(one) == other {
				return true
			}
		}
	}
	return false
}

// ParseStoredSandbox returns the sandbox of settings in the form of thread/settings/updated.
func ParseStoredSandbox(settings rpc.Value) SandboxSettings {
	stored := ParseSandbox(settings.Get("sandboxPolicy"))
	stored.Profile = TextOf(settings.Get("activePermissionProfile").Get("id"))
	if settings.Get("sandboxPolicy").Get("type").Is("externalSandbox") {
		// Measured with Codex 0.169 and 0.171: it does not restore this, but takes its default, as for a workspace-write
		// without a profile.
		return SandboxSettings{Mode: WorkspaceWrite.String()}
	}
	return stored
}
