package policy

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

const permissionsKey = "permissions"

// Profile is the permissions profile that a thread's overlay defines. The zero Profile defines
// none.
type Profile struct {
	Defined   bool
	Roots     []string   // writable roots of Codex's configuration, in the variant "-roots"
	Protected [][]string // policy.protected_paths by name, which Codex mounts read-only
	// Entries has the access of commands by path, in the form of Codex's table: "read", "write",
	// "deny", or an object of these by path below each workspace root.
	Entries map[string]any
	// RootEntries has the access to paths in Roots, for the variants "-roots".
	RootEntries map[string]any
	// Secrets are the files of State.Secrets that the profile hides.
	Secrets []string
	// Hidden are the folders of Entries that belong to this process of the bridge.
	Hidden []string
	// Folders are the folders in which the entries below each workspace root count.
	Folders []string
	// InTemps are the folders of Entries with "write" that are writable only with one of these temporary folders; see State.foldersInTemps.
	InTemps map[string][]string
	// User is the profile of the user's configuration whose denials the profile has; "" if there is
	// none. Then the variants need no settings of the network.
	User string
	// UserWrites reports that a thread with User alone can write its workspace.
	UserWrites bool
	// UserNetwork reports that commands of a thread with User alone have a network.
	UserNetwork bool
	// ReadOnly has the entries of the variant ReadOnly, which extends ReadOnlyBase. Without User and
	// State.Secrets there is no such variant.
	ReadOnly     map[string]any
	ReadOnlyBase string
	// Network are the settings of the variants with network; nil if they have none but "enabled".
	Network map[string]json.RawMessage
}

// HasReadOnly reports whether there is a variant ReadOnly, so that commands which write nothing can't
// read everything either.
func (f Profile) HasReadOnly() bool { return f.User != "" || len(f.ReadOnly) > 0 }

// Denies reports whether the profile denies reading something.
func (f Profile) Denies() bool {
	for _, access := range f.Entries {
		below, _ := access.(map[string]string)
		if access == accessDeny || slices.Contains(slices.Collect(maps.Values(below)), accessDeny) {
			return true
		}
	}
	return false
}

// covers reports whether the profile protects everything that needed protects.
func (f Profile) covers(needed Profile) bool {
	if needed.User != "" && (f.User == "" || f.ReadOnlyBase != needed.ReadOnlyBase || !reflect.DeepEqual(f.Network, needed.Network)) {
		return false
	}
	return coversEntries(f.Entries, needed.Entries) && coversEntries(f.ReadOnly, needed.ReadOnly) && f.coversRoots(needed)
}

func coversEntries[V any](has, needed map[string]V) bool {
	for at, access := range needed {
		switch access := any(access).(type) {
		case map[string]string:
			inner, _ := any(has[at]).(map[string]string)
			if !coversEntries(inner, access) {
				return false
			}
		case string:
			if access == "write" {
				continue
			}
			protected := any(has[at]) == access
			for dir := at; !protected && access == "read" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
				protected = any(has[filepath.Dir(dir)]) == "read"
			}
			if !protected {
				return false
			}
		default: // the depth for globs
			if !reflect.DeepEqual(any(has[at]), access) {
				return false
			}
		}
	}
	return true
}

// equal reports whether two profiles are the same.
func (f Profile) equal(other Profile) bool {
	return f.Defined == other.Defined && reflect.DeepEqual(f.Entries, other.Entries) && slices.Equal(f.Roots, other.Roots) && reflect.DeepEqual(f.RootEntries, other.RootEntries) &&
		f.User == other.User && f.UserWrites == other.UserWrites && f.UserNetwork == other.UserNetwork && f.ReadOnlyBase == other.ReadOnlyBase &&
		reflect.DeepEqual(f.ReadOnly, other.ReadOnly) && reflect.DeepEqual(f.Network, other.Network)
}

// decideProfile defines the profile for an opening thread, and sends it in place of
// workspace-write. A read-only thread has the profile too, because a turn may raise its sandbox.
//
// It returns the sandbox and the keys that it got, with its changes.
func decideProfile(in folders, at project, o overlaySettings, sandbox threadSandbox, keys requiredKeys) (threadSandbox, threadProfile, requiredKeys) {
	c := profileRule{sandboxRule: sandboxRule{folders: &in, project: at, overlay: o, found: sandbox, keys: keys}}
	c.decide()
	return c.found, c.profile, c.keys
}

// threadProfile is the permissions profile that a request gives the thread that it opens.
type threadProfile struct {
	Profile
	variant string // SentSettings.ProfileName
}

// profileRule decides about the permissions profile of a thread that opens.
type profileRule struct {
	sandboxRule
	profile        threadProfile
	profileFolders []string // the writable folders for which the thread has a profile
}

func (c *profileRule) decide() {
	user := c.userProfile()
	if c.err != nil || !c.p.letsWrite() && user == nil && len(c.st.Secrets) == 0 {
		return
	}
	c.defineProfile(user)
	if c.err != nil {
		return
	}
	if c.m.Method == "thread/resume" && c.st.LoadedProfile == nil && !c.st.NotLoaded {
		c.want(WantLoadedProfile)
		return
	}
	// Measured with Codex 0.169: it ignores the overlay of a loaded thread, unless the client has
	// unsubscribed.
	loaded := c.st.LoadedProfile != nil && c.m.Method == "thread/resume"
	if loaded && !c.keepLoadedProfile() || !c.profile.Defined {
		return
	}
	stays := loaded && !c.st.Unsubscribed // Codex keeps the thread's sandbox
	to, f, known := c.profileLevel(user, stays)
	if !known {
		return
	}
	c.sendLevel(to, user, stays)
	f = c.sendProfile(to, f, user, stays)
	c.requireDefaultPermissions(to, f)
}

// namesUser reports whether the request names the user's own profile, so that a stored sandbox does not count.
func (c *profileRule) namesUser() bool {
	return c.found.userSandbox && !IsUnset(c.params.Get(permissionsKey))
}

// profileLevel returns the level that the thread gets with the profile, and the variant that the request names or
// Codex restores; false if a fact is missing.
func (c *profileRule) profileLevel(user *UserProfile, stays bool) (to Level, f profileVariant, known bool) {
	f, _ = parseProfileName(TextOf(c.params.Get(permissionsKey)))
	to = c.found.level
	switch d := c.st.Defaults; {
	case c.found.mode != "" || c.namesUser():
	case !c.spec.startsThread && c.st.StoredSandbox == nil && !(stays && c.knowsSandbox()):
		c.want(WantStoredSandbox)
		return to, f, false
	case !c.spec.startsThread:
		// Measured with Codex 0.169: with profiles in the overlay it does not restore a sandbox.
		if !(stays && c.knowsSandbox()) && d == nil && c.takesDefault() {
			c.want(WantConfiguration)
			return to, f, false
		}
		stored := c.restoredSandbox(stays)
		to, _ = ParseMode(stored.Mode)
		if to == FullAccess && user != nil && !stays && c.profile.Denies() && stored.Profile != builtinProfiles[FullAccess] {
			to = WorkspaceWrite // Codex alone would restore full access without what the profile denies, which no request can name
			c.recordChange("sandbox", rpc.Value{}, JSONString(to.String()), RuleUser,
				"a resumed thread with full access would lose what the permissions profile "+user.Name+" denies; a turn can ask for full access")
			c.changes[len(c.changes)-1].Narrows = true
		}
		f.network, f.noTmpdir, f.noSlashTmp = stored.Network, stored.NoTmpdir, stored.NoSlashTmp
	case d == nil:
		c.want(WantConfiguration)
		return to, f, false
	case user != nil:
		to = min(to, user.level())
		if l, _, _ := d.level(); c.isReplaced(user) {
			to = min(to, l) // readOnly if unknown
		}
	case d.Sandbox == "" && d.Permissions == "" && !c.knowsProject():
		to = ReadOnly
	}
	if user != nil && !user.Writes && c.found.mode == "" {
		to = ReadOnly // a stored sandbox may be the user's profile, which writes less than workspace-write
	}
	to, _, _ = c.allowedLevel(to)
	return to, f, true
}

// sendLevel sends the level where the request names none, beside the profiles of the overlay.
func (c *profileRule) sendLevel(to Level, user *UserProfile, stays bool) {
	switch {
	case to == WorkspaceWrite || c.found.mode != "":
	case user != nil && !user.Writes:
		c.setUserReadOnly(RuleUser, user.readOnlyReason())
	default:
		reason := "if omitted beside a permissions profile, Codex would not restore it"
		if !c.spec.startsThread && !stays && c.st.StoredSandbox != nil && c.takesDefault() {
			reason = "if omitted, Codex would take its default"
		}
		c.setMode(to, RuleProtected, reason)
	}
}

// sendProfile names the variant of the profile for the level in place of a sandbox. It returns that variant, or f for a
// level without one.
func (c *profileRule) sendProfile(to Level, f profileVariant, user *UserProfile, stays bool) profileVariant {
	_, own := parseProfileName(TextOf(c.params.Get(permissionsKey)))
	switch {
	case to == ReadOnly && c.profile.HasReadOnly():
		f = profileVariant{readOnly: true}
	case to != WorkspaceWrite:
		return f
	default:
		if c.checkLinks("params.cwd", c.profile.Entries, c.profileFolders); c.err != nil {
			return f
		}
		f.readOnly = false
		switch d := c.st.Defaults; {
		case d == nil || own || !c.spec.startsThread && c.found.mode == "" && !c.namesUser():
		case c.found.userSandbox:
			f = profileVariant{network: user != nil && user.networkOn}
		case !c.found.builtinProfile:
			f = profileVariant{network: d.Network, noTmpdir: d.NoTmpdir, noSlashTmp: d.NoSlashTmp, roots: true}
		}
		f.network = f.network && c.p.network
		f.roots = f.roots && len(c.profile.Roots) > 0 && c.forbiddenRoot(c.profile.Roots) == ""
		c.found.mode = to.String()
	}
	name := c.profile.nameOf(f)
	c.setProfile(name, "sandbox")
	if !stays {
		c.profile.variant = name
	}
	return f
}

// knowsSandbox reports whether the bridge knows the thread's current sandbox.
func (c *request) knowsSandbox() bool { return c.st.Thread != nil && c.st.Thread.Sandbox != "" }

// keepLoadedProfile keeps the profile of a thread that Codex has loaded. It returns false if that
// profile protects less than needed now, or if Codex may load the thread again with another one.
func (c *profileRule) keepLoadedProfile() bool {
	has, needed := *c.st.LoadedProfile, c.profile.Profile
	if has.covers(needed) && (!c.st.Unsubscribed || has.equal(needed) || c.resendsProfile(has)) {
		has.Secrets = needed.Secrets
		c.profile.Profile = has
		return true
	}
	if c.st.Defaults == nil { // the needed profile depends on them
		c.want(WantConfiguration)
		return false
	}
	c.refuse(rpc.CodeNotVerified, "params.threadId", RuleProtected,
		"Codex has the thread in memory with a permissions profile that is unknown or protects too little now", "start another thread, or restart Codex and then resume this one")
	return false
}

// openingFolder returns the folder in which the thread opens; "" if unknown.
func (c *folders) openingFolder() string { return cmp.Or(c.workspace, c.st.ThreadFolder) }

// defineProfile adds the profile to the overlay if a path needs it, if the bridge has secrets, or if
// the user's own profile denies something.
func (c *profileRule) defineProfile(user *UserProfile) {
	folder := c.openingFolder()
	if !c.p.letsWrite() || folder == "" || !IsUsableWorkspace(c.st, folder) {
		c.wantIf(c.p.letsWrite() && folder == "" && !c.spec.startsThread && !c.st.UnknownThread, WantThreadFolder)
		if user != nil || len(c.st.Secrets) > 0 {
			c.requireProfile(user, hide(map[string]any{}, c.st.Secrets), nil, nil)
		}
		return
	}
	folders := []string{folder}
	add := func(v rpc.Value) {
		if at, err := c.st.Canonical(TextOf(v)); err == nil && c.canWorkIn(at) {
			folders = append(folders, at)
		}
	}
	for root := range c.params.Get("runtimeWorkspaceRoots").Elements() {
		add(root)
	}
	for environment := range c.params.Get("environments").Elements() {
		add(environment.Get("cwd"))
		for root := range environment.Get("runtimeWorkspaceRoots").Elements() {
			add(root)
		}
	}
	var roots []string
	if c.st.Defaults != nil {
		roots, _ = c.allowedDefaultRoots()
	}
	outer := c.outerRoots(folders)
	if c.err != nil {
		return
	}
	inner := c.innerRoots(outer, c.overlay.configuredRoots)
	if c.refuseEnvironmentAround(inner); c.err != nil {
		return
	}
	entries := c.p.ProfileEntries(c.st, slices.Concat(folders, roots), inner)
	if len(entries) == 0 && user == nil {
		return
	}
	c.wantIf(c.st.Defaults == nil, WantConfiguration) // with the profile, Codex has none of its writable roots
	c.profileFolders = slices.Concat(folders, roots)
	c.requireProfile(user, entries, roots, folders)
}

// requireProfile has the overlay define the profile with the entries of the bridge and of the user.
func (c *profileRule) requireProfile(user *UserProfile, entries map[string]any, roots, folders []string) {
	if c.checkEntries(entries, roots); c.err != nil {
		return
	}
	inRoots := c.st.rootEntries(entries, roots)
	profile := Profile{
		Defined: true, Roots: roots, Protected: c.p.protected, Entries: entries, RootEntries: inRoots,
		Secrets: c.st.Secrets, Hidden: c.st.Hidden, Folders: folders, InTemps: c.st.foldersInTemps(entries, folders),
	}
	if user == nil && len(c.st.Secrets) > 0 {
		profile.ReadOnly, profile.ReadOnlyBase = hide(map[string]any{}, c.st.Secrets), builtinProfiles[ReadOnly]
	}
	if user != nil {
		all := slices.Concat(folders, roots)
		user = c.withoutSecrets(c.withRemovedRoots(user), all)
		profile.User, profile.UserWrites, profile.UserNetwork, profile.Network = user.Name, user.Writes, user.networkOn, user.network
		c.dropNarrowedRoots(entries, user, all)
		profile.Entries, profile.Roots = c.narrowEntries(entries, user, all), c.openRoots(roots, user, all)
		c.dropNarrowedEntries(inRoots, profile.Roots, user, all)
		profile.ReadOnly = hide(user.readOnlyEntries(), c.outsideDenied(c.st.Secrets, user, all))
		if user.base != "" {
			profile.ReadOnlyBase = builtinProfiles[ReadOnly]
		}
	}
	c.keepNarrowed(&profile)
	c.profile.Profile = profile
	c.keys.add(requiredKey{
		key: permissionsKey, raw: profile.table(), rule: RuleProtected,
		reason: "commands must not write protected paths and policy files, or read secrets of the bridge or what the user's own profile denies",
	})
}

// ShownProfile returns the permissions profile that the client sees in place of the one that Codex
// reports for its thread; nil if it sees Codex's.
//
// Measured with Codex 0.169: after /permissions its TUI sends no prompt until
// thread/settings/updated has the id that it requested, which is ":workspace".
func (p *Policy) ShownProfile(t *Thread, profile rpc.Value) json.RawMessage {
	if t == nil || !t.Profile.Defined {
		return nil
	}
	level := WorkspaceWrite
	switch id := profile.Get("id"); {
	case id.Is(t.Profile.nameOf(profileVariant{readOnly: true})):
		level = ReadOnly
	case !id.Is(t.Profile.nameOf(profileVariant{})):
		return nil
	}
	return json.RawMessage(`{"id":"` + builtinProfiles[level] + `","extends":null}`)
}

// ShownOpenedProfile is ShownProfile for the response to a request that opens a thread. Only there, and only
// if the profile does nothing but deny reading, the client sees what it would without the bridge.
//
// Measured with Codex 0.169 and 0.171: that is null for a thread with a sandbox in the request, and else
// a builtin profile.
func (p *Policy) ShownOpenedProfile(t *Thread, namesSandbox bool, profile rpc.Value) json.RawMessage {
	_, own := parseProfileName(TextOf(profile.Get("id")))
	switch {
	case t == nil || !own || t.Profile.User != "" || !t.Profile.onlyDenies():
		return nil
	case namesSandbox:
		return json.RawMessage("null")
	}
	return p.ShownProfile(t, profile)
}

// onlyDenies reports whether the profile denies reading and protects nothing else.
func (f Profile) onlyDenies() bool {
	for _, access := range f.Entries {
		if access != accessDeny {
			return false
		}
	}
	return len(f.Entries) > 0
}

// ShownRoots returns the writable roots that the client sees in place of those that Codex reports for
// a thread; nil if it sees Codex's. Codex also lists the folders that the profile mounts above
// protected paths, in folders that are writable anyway.
func (p *Policy) ShownRoots(t *Thread, sandbox rpc.Value, st State) json.RawMessage {
	if t == nil || !t.Profile.Defined {
		return nil
	}
	listed := WritableRoots(sandbox)
	outer := []string{t.Workspace, t.Cwd}
	for _, root := range listed {
		if !t.Profile.mounts(root) {
			outer = append(outer, root)
		}
	}
	settings := ParseSandbox(sandbox)
	for _, temp := range st.Temps {
		if excluded := temp.Name == "/tmp" && settings.NoSlashTmp || temp.Name != "/tmp" && settings.NoTmpdir; !excluded {
			outer = append(outer, temp.Path)
		}
	}
	shown := slices.DeleteFunc(slices.Clone(listed), func(root string) bool {
		return t.Profile.mounts(root) && slices.ContainsFunc(outer, func(folder string) bool {
			return folder != "" && folder != root && Within(folder, root)
		})
	})
	if len(shown) == len(listed) {
		return nil
	}
	return jsonArray(shown)
}

// mounts reports whether the profile itself has a writable mount at a path.
func (f Profile) mounts(path string) bool {
	if f.accessOf(path) == accessWrite || f.RootEntries[path] == accessWrite {
		return true
	}
	relative, _ := f.Entries[workspaceRootsKey].(map[string]string)
	for name, access := range relative {
		if access == "write" && strings.HasSuffix(path, string(filepath.Separator)+filepath.FromSlash(name)) {
			return true
		}
	}
	return false
}

// Gives reports whether an echoed profile is one of the thread's overlay, with the sandbox that the profile gives. With
// network, the sandbox may have the network.
func (f Profile) Gives(echoed rpc.Value, sandbox Level, network bool) bool {
	id, extends := TextOf(echoed.Get("id")), echoed.Get("extends")
	v, ok := parseProfileName(id)
	switch {
	case !ok || !f.Defined || id != f.nameOf(v):
		return false
	case v.readOnly:
		return f.HasReadOnly() && TextOf(extends) == f.ReadOnlyBase && sandbox == ReadOnly
	}
	return (extends.Is(builtinProfiles[WorkspaceWrite]) || extends.Is(f.nameOf(profileVariant{}))) && (!v.network || network)
}
