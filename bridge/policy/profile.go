package policy

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

// PolicyFiles finds the files of a workspace that govern the threads in it.
type PolicyFiles interface {
	// PolicyFiles returns the canonical paths of the workspace policy files that
	// apply to a thread in folder. folder is canonical.
	PolicyFiles(folder string) []string
}

// fenceName is the permissions profile that the bridge defines in a thread's overlay.
// It is Codex's own :workspace, less the files that govern the thread.
//
// Measured with Codex 0.169: an entry "read" inside a writable root is a read-only
// mount. A command can't write, rename, replace, or link over what it names, and
// a patch there is asked about. A sandboxPolicy has no field for it. A turn's
// sandboxPolicy replaces the profile; threads of subagents inherit it.
const fenceName = "codex-bridge"

const permissionsKey = "permissions"

// fenceFlags are the variants of the profile, which stand for the members of a
// sandboxPolicy. Each is a suffix of the profile's name.
type fenceFlags struct{ network, noTmpdir, noSlashTmp, roots bool }

// each calls do with the suffix of each flag and whether it is set.
func (f *fenceFlags) each(do func(suffix string, flag *bool)) {
	do("-network", &f.network)
	do("-no-tmpdir", &f.noTmpdir)
	do("-no-slash-tmp", &f.noSlashTmp)
	do("-roots", &f.roots)
}

// name returns the name of the variant.
func (f fenceFlags) name() string {
	name := fenceName
	f.each(func(suffix string, flag *bool) {
		if *flag {
			name += suffix
		}
	})
	return name
}

// fenceNamed returns the variant of that name; false if the bridge has no such profile.
func fenceNamed(name string) (f fenceFlags, ok bool) {
	rest, ok := strings.CutPrefix(name, fenceName)
	f.each(func(suffix string, flag *bool) { rest, *flag = strings.CutPrefix(rest, suffix) })
	return f, ok && rest == ""
}

// Profile is the profile that a thread's overlay defines. The zero Fence defines none.
type Profile struct {
	Defined   bool
	Roots     []string   // writable roots of Codex's own configuration, in the variant "-roots"
	Protected [][]string // policy.protected_paths by segment, which Codex mounts read-only
	// Entries are the access of commands by path, in the form of Codex's table: "read", "write", "deny", or an object of
	// these for the paths in each workspace root.
	Entries map[string]any
}

// covers reports whether the profile protects all that needed does.
func (f Profile) covers(needed Profile) bool {
	return coversEntries(f.Entries, needed.Entries)
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
		}
	}
	return true
}

// equal reports whether two profiles are the same.
func (f Profile) equal(other Profile) bool {
	return f.Defined == other.Defined && reflect.DeepEqual(f.Entries, other.Entries) && slices.Equal(f.Roots, other.Roots)
}

// fence defines the profile for a thread that is opened, and puts it in the place of
// workspace-write. A thread that is read-only now may be raised by a turn, and has
// the profile too.
func (c *call) fence([]string) {
	if c.err != nil || !c.p.letsWrite() {
		return
	}
	c.defineFence()
	if c.m.Method == "thread/resume" && c.sent.Profile.Defined && c.st.LoadedProfile == nil && !c.st.NotLoaded {
		c.needsLoaded = true
		return
	}
	// Measured: Codex ignores the overlay of a loaded thread, unless the client has unsubscribed from it.
	loaded := c.st.LoadedProfile != nil && c.m.Method == "thread/resume"
	if loaded && !c.keepFence() || !c.sent.Profile.Defined {
		return
	}
	stays := loaded && !c.st.Unsubscribed // in the sandbox that it has
	f, own := fenceNamed(textOf(c.params.Get(permissionsKey)))
	to := c.level
	switch d := c.st.Defaults; {
	case c.sent.Sandbox != "":
	case !c.row.starts && c.st.StoredSandbox == nil && !(stays && c.hasSandbox()):
		c.needsStored = true
		return
	case !c.row.starts && (stays && c.hasSandbox() || c.st.StoredSandbox.Mode != ""):
		// Measured: with profiles in the overlay Codex restores no sandbox by itself.
		var stored SandboxSettings
		switch {
		case stays && c.hasSandbox():
			stored = c.st.Thread.stored()
		case c.hasSandbox():
			stored = c.st.StoredSandbox.Intersect(c.st.Thread.stored())
		default:
			stored = *c.st.StoredSandbox
		}
		to, _ = levelOf(stored.Mode)
		f.network, f.noTmpdir, f.noSlashTmp = stored.Network, stored.NoTmpdir, stored.NoSlashTmp
	case d == nil:
		c.needs = true
		return
	case d.Sandbox == "" && d.Permissions == "" && c.ownTrust(c.opensIn()) == unsaid:
		to = readOnly
	}
	to, _, _ = c.lower(to)
	if to != workspaceWrite && c.sent.Sandbox == "" {
		c.setMode(to, ruleProtected, "left out beside a permissions profile, codex would not know it")
	}
	if to == workspaceWrite {
		if d := c.st.Defaults; d != nil && !own && !c.profiled && (c.row.starts || c.sent.Sandbox != "") {
			f = fenceFlags{network: d.Network, noTmpdir: d.NoTmpdir, noSlashTmp: d.NoSlashTmp, roots: true}
		}
		f.network = f.network && c.p.network
		f.roots = f.roots && len(c.sent.Profile.Roots) > 0 && c.barredRoot(c.sent.Profile.Roots) == ""
		c.putFence(f, "sandbox")
		c.sent.Sandbox = to.String()
		if !stays {
			c.sent.ProfileName = f.name()
		}
	}
}

// hasSandbox reports whether the sandbox that the thread now has is known.
func (c *call) hasSandbox() bool { return c.st.Thread != nil && c.st.Thread.Sandbox != "" }

// keepFence gives a thread that Codex has loaded the profile that it has. It returns false if the profile protects less
// than is needed now, or if Codex may load the thread anew, with another one.
func (c *call) keepFence() bool {
	has, needed := *c.st.LoadedProfile, c.sent.Profile
	if has.covers(needed) && (!c.st.Unsubscribed || has.equal(needed)) {
		c.sent.Profile = has
		return true
	}
	if c.st.Defaults == nil { // what is needed depends on them
		c.needs = true
		return false
	}
	c.refuse(rpc.CodeNotVerified, "params.threadId", ruleProtected,
		"Codex has the thread in memory, and its permissions profile is unknown or does not protect what has to be protected now", "start another thread, or start Codex again and resume this one then")
	return false
}

// opensIn returns the folder that the thread is opened in; "" unknown.
func (c *call) opensIn() string {
	switch t := c.st.Thread; {
	case c.workspace != "":
		return c.workspace
	case t != nil && c.st.LoadedProfile != nil && !c.row.starts:
		return t.Workspace // Codex may be in another folder, where a turn has moved it
	}
	return c.st.ThreadFolder
}

// protects reports whether commands can't write one of policy.protected_paths at the top of the
// workspace: Codex mounts it read-only, or lets them write nothing, but for grants that hold none.
func (t *Thread) protects(kept []string) bool {
	switch t.Sandbox {
	case readOnly.String():
		return true
	case workspaceWrite.String():
		return governs(kept[0]) || t.Profile.Defined && !t.LacksProfile && slices.ContainsFunc(t.Profile.Protected, func(p []string) bool { return slices.Equal(p, kept) })
	}
	return false
}

// defineFence has the overlay define the profile, if anything needs it.
func (c *call) defineFence() {
	folder := c.opensIn()
	if folder == "" || !usableWorkspace(c.st, folder) {
		return
	}
	folders := []string{folder}
	add := func(v rpc.Value) {
		if at, err := c.st.canonical(textOf(v)); err == nil && c.entered(at) {
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
		roots, _ = c.defaultRoots()
		folders = append(folders, roots...)
	}
	entries := c.p.fenceEntries(c.st, folders)
	if len(entries) == 0 {
		return
	}
	if c.st.Defaults == nil && c.row.starts {
		c.needs = true
	}
	c.sent.Profile = Profile{Defined: true, Roots: roots, Protected: c.p.protected, Entries: entries}
	c.wanted = append(c.wanted, want{
		key: permissionsKey, raw: c.p.fenceTable(entries, roots), rule: ruleProtected,
		reason: "commands must not write what governs the thread",
	})
}

// fenceEntries returns the entries of the profile: the access of commands, by path.
//
// Measured with Codex 0.169: of two entries the deeper one counts, and of "read" and "write" on one
// path the latter. So no path gets "write" that is, or is in, one that has "read". In a path with "read"
// there is no entry at all: for one that is missing, Codex could not start a command.
func (p *Policy) fenceEntries(st State, folders []string) map[string]any {
	writable := slices.Clone(folders)
	for _, t := range st.Temps {
		writable = append(writable, t.Path)
	}
	entries := map[string]any{}
	reads := outermost(p.readOnlyPaths(st, folders, writable))
	for _, at := range reads {
		entries[at] = "read"
	}
	inRead := func(at string) bool {
		return slices.ContainsFunc(reads, func(read string) bool { return withinFold(read, at) })
	}
	// A folder between a writable folder and an entry is a mount of its own, or it could be renamed (measured).
	between := func(folder, at string) {
		for dir := filepath.Dir(at); dir != folder && within(folder, dir) && !governs(dir[len(folder):]); dir = filepath.Dir(dir) {
			switch {
			case entries[dir] != nil || inRead(dir):
			case p.protectsOwn(dir[len(folder):]):
				entries[dir] = "read"
			default:
				entries[dir] = "write"
			}
		}
	}
	for _, at := range reads {
		for _, folder := range writable {
			between(folder, at)
		}
	}
	relative := p.relativeEntries(reads)
	for at, access := range relative {
		if access == "read" { // also for a turn that works in a subfolder
			entries[filepath.Join(folders[0], filepath.FromSlash(at))] = access
		}
	}
	if len(relative) > 0 {
		entries[":workspace_roots"] = relative
	}
	// Measured with Codex 0.169: Codex resolves the links of $TMPDIR for each command anew. With
	// TMPDIR=WORKSPACE/a/tmp a command renamed a and made a/tmp a link to CODEX_HOME, and the next
	// command could write there. A mount can't be renamed from inside the sandbox. Where the workspace
	// is replaced in this way Codex runs no command any more.
	for _, t := range st.Temps {
		for _, outer := range writable {
			if t.Path != outer && within(outer, t.Path) {
				if entries[t.Path] == nil {
					entries[t.Path] = "write"
				}
				between(outer, t.Path)
			}
		}
	}
	for at := range entries {
		temporary := slices.ContainsFunc(st.Temps, func(t TempFolder) bool { return t.Path == at })
		for dir := filepath.Dir(at); !temporary && filepath.IsAbs(at) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if entries[dir] == "read" {
				delete(entries, at)
				break
			}
		}
	}
	// Measured with Codex 0.169: beside an entry "deny" patches are applied inside the sandbox, where a
	// missing folder with an entry "write" can't be made.
	parents := slices.Contains(slices.Collect(maps.Values(relative)), "write")
	if len(entries) > 0 && !parents {
		for _, at := range st.Hidden {
			entries[at] = "deny"
		}
	}
	return entries
}

// readOnlyPaths returns the programs and policy files that commands must not write.
func (p *Policy) readOnlyPaths(st State, folders, writable []string) []string {
	var reads []string
	for _, program := range st.Programs {
		if withinAny(writable, program) {
			reads = append(reads, program)
		}
	}
	if st.PolicyFiles != nil {
		governed := slices.Clone(folders)
		if st.StartFolder != "" { // its policy file counts in every thread
			governed = append(governed, st.StartFolder)
		}
		for _, folder := range governed {
			reads = append(reads, st.PolicyFiles.PolicyFiles(folder)...)
		}
	}
	return reads
}

// relativeEntries returns the entries for policy.protected_paths in each workspace root: "read" for the
// path, and "write" for each folder above it, which is then a mount of its own. A folder that is
// read-only in some root is read-only in all.
func (p *Policy) relativeEntries(reads []string) map[string]string {
	ends := map[string]bool{} // of paths that are read-only, in lower case
	add := func(path string) {
		names := strings.FieldsFunc(strings.ToLower(path), func(c rune) bool { return c == '/' || c == '\\' })
		for i := range names {
			ends[strings.Join(names[i:], "/")] = true
		}
	}
	for _, read := range reads {
		add(read)
	}
	var own [][]string // what Codex does not protect by itself
	for _, segments := range p.protected {
		if !governs(segments[0]) {
			own = append(own, segments)
			add(strings.Join(segments, "/")) // as a turn in a subfolder sees it
		}
	}
	relative := map[string]string{}
	for _, segments := range own {
		for i := 1; i <= len(segments); i++ {
			at := strings.Join(segments[:i], "/")
			if ends[strings.ToLower(at)] {
				relative[at] = "read"
				break
			}
			relative[at] = "write"
		}
	}
	return relative
}

// outermost returns the paths that are in no other one of them.
func outermost(paths []string) []string {
	known := make(map[string]bool, len(paths))
	for _, at := range paths {
		known[at] = true
	}
	var out []string
	for _, at := range paths {
		inner := false
		for dir := filepath.Dir(at); !inner && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			inner = known[dir]
		}
		if !inner {
			out = append(out, at)
		}
	}
	return out
}

// withinFold is within, regardless of case, so that a doubt forbids.
func withinFold(root, path string) bool { return within(strings.ToLower(root), strings.ToLower(path)) }

// fenceTable is the overlay's table `permissions`.
func (p *Policy) fenceTable(entries map[string]any, roots []string) []byte {
	type profile struct {
		Extends    string          `json:"extends"`
		Filesystem map[string]any  `json:"filesystem,omitempty"`
		Network    map[string]bool `json:"network,omitempty"`
	}
	table := map[string]profile{fenceName: {Extends: profileNames[workspaceWrite], Filesystem: entries}}
	for i := 1; i < 16; i++ {
		f := fenceFlags{i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0}
		if f.network && !p.network || f.roots && len(roots) == 0 {
			continue
		}
		one := profile{Extends: fenceName, Filesystem: map[string]any{}}
		if f.network {
			one.Network = map[string]bool{"enabled": true}
		}
		if f.noTmpdir {
			one.Filesystem[":tmpdir"] = "read"
		}
		if f.noSlashTmp {
			one.Filesystem[":slash_tmp"] = "read"
		}
		if f.roots {
			for _, root := range roots {
				one.Filesystem[root] = "write"
			}
		}
		table[f.name()] = one
	}
	raw, _ := json.Marshal(table) // texts and booleans: it can't fail
	return raw
}

// putFence names the profile in the place of field.
func (c *call) putFence(f fenceFlags, field string) {
	const reason = "in this profile of the bridge's, commands can't write what governs the thread"
	if c.params.Get(field).Exists() {
		c.dropField(field, ruleProtected, reason)
	} else {
		c.edit().Delete(c.params, field)
	}
	if c.params.Get(permissionsKey).Is(f.name()) {
		c.edit().Set(c.params, permissionsKey, quote(f.name())) // it may have been taken out
		return
	}
	c.setField(permissionsKey, quote(f.name()), ruleProtected, reason)
}

// fenceTurn puts the profile in the place of a sandboxPolicy that would replace it, or
// names it where the thread's stored workspace-write came back without it.
func (c *call) fenceTurn([]string) {
	t := c.st.Thread
	if t == nil || !t.Profile.Defined {
		return
	}
	switch {
	case c.writes != nil:
		o := c.writes
		f := fenceFlags{network: o.network && c.p.network, noTmpdir: o.noTmpdir, noSlashTmp: o.noSlashTmp}
		for _, root := range c.writable {
			switch {
			case within(t.Workspace, root):
			case withinAny(t.Profile.Roots, root):
				f.roots = true
			default:
				c.note("sandboxPolicy.writableRoots", c.params.Get("sandboxPolicy").Get("writableRoots"), nil, ruleProtected,
					root+" can't be made writable in a turn of this thread, whose sandbox protects what governs it; name it in sandbox_workspace_write.writable_roots of codex's configuration, or open a thread there")
			}
		}
		if barred := c.barredRoot(t.Profile.Roots); f.roots && barred != "" {
			f.roots = false
			c.note("sandboxPolicy.writableRoots", c.params.Get("sandboxPolicy").Get("writableRoots"), nil, ruleRoots,
				"the thread's profile would make "+barred+" writable, too, which is not allowed")
		}
		c.putFence(f, "sandboxPolicy")
	case t.LacksProfile && nothing(c.params.Get("sandboxPolicy")) && nothing(c.params.Get(permissionsKey)):
		c.putFence(fenceFlags{}, "sandboxPolicy")
	}
}

// fenced tells whether an echoed profile is the one that the thread's overlay defines.
func (e *echo) fenced(id string) bool {
	f, ok := fenceNamed(id)
	extends := e.profile.Get("extends")
	return ok && e.fence.Defined && (extends.Is(profileNames[workspaceWrite]) || extends.Is(fenceName)) && (!f.network || e.p.network)
}

// LacksProfile tells whether a thread that has the profile runs without it, by its settings.
func LacksProfile(fence Profile, settings rpc.Value) bool {
	return unfenced(fence, settings.Get("sandboxPolicy"), settings.Get("activePermissionProfile"))
}

// unfenced tells whether a thread that has the profile runs without it.
func unfenced(fence Profile, sandbox, profile rpc.Value) bool {
	_, ok := fenceNamed(textOf(profile.Get("id")))
	return fence.Defined && !ok && SandboxMode(sandbox) == workspaceWrite.String()
}

func textOf(v rpc.Value) string {
	text, _ := v.Text()
	return text
}
