package policy

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// StoredProfile is what Codex's record of a thread says of its permissions.
//
// Measured with Codex 0.169: a cold resume restores them, even if the configuration does not have
// the profile any more.
type StoredProfile struct {
	Name      string          // of the profile; "" if there was none
	Denied    []string        // paths and globs that commands can't read
	Read      []string        // paths with an entry "read"
	Written   []string        // paths with an entry "write"
	Depth     json.RawMessage // the depth to which Codex looks for files that globs match; nil if unlimited
	ReadsRoot bool            // commands can read what no entry denies
	Roots     []string        // workspace roots of the thread; nil if they are not recorded
	Cwd       string          // of the last turn
}

// ParseStoredProfile reads the settings of a turn, as package rollout returns them.
func ParseStoredProfile(settings rpc.Value) *StoredProfile {
	s := &StoredProfile{Name: TextOf(settings.Get("activePermissionProfile").Get("id")), Cwd: TextOf(settings.Get("cwd"))}
	files := settings.Get("permissionProfile").Get("file_system")
	if depth := files.Get(globDepthKey); !IsUnset(depth) {
		s.Depth = CloneRaw(depth)
	}
	if settings.Get("runtimeWorkspaceRoots").Kind() == rpc.Array {
		s.Roots = []string{}
	}
	for root := range settings.Get("runtimeWorkspaceRoots").Elements() {
		s.Roots = append(s.Roots, TextOf(root))
	}
	for entry := range files.Get("entries").Elements() {
		path, access := entry.Get("path"), TextOf(entry.Get("access"))
		switch {
		case path.Get("value").Get("kind").Is("root"):
			s.ReadsRoot = access == accessRead || access == accessWrite
		case access == accessRead:
			s.Read = append(s.Read, TextOf(path.Get("path")))
		case access == accessWrite:
			s.Written = append(s.Written, TextOf(path.Get("path")))
		case path.Get("type").Is("path"):
			s.Denied = append(s.Denied, TextOf(path.Get("path")))
		default:
			s.Denied = append(s.Denied, TextOf(path.Get("pattern")))
		}
	}
	return s
}

// restores reports whether Codex alone would give the thread of the request its stored profile.
// State.Stored is then known: restores has noted it as missing otherwise.
func (c *request) restores() bool {
	switch {
	case !c.spec.opensThread, c.spec.startsThread, c.st.UnknownThread, c.st.LoadedProfile != nil:
		return false
	case !IsUnset(c.params.Get("sandbox")) || !IsUnset(c.params.Get(permissionsKey)):
		return false
	case c.m.Method == "thread/resume" && !c.st.NotLoaded:
		c.want(WantLoadedProfile)
		return false
	case c.st.Stored == nil:
		c.want(WantStoredSandbox)
		return false
	}
	return true
}

// withStored adds to u what the stored profile denies or narrows to "read" and u does not. u may be nil.
func (c *folders) withStored(u *UserProfile) *UserProfile {
	s := c.st.Stored
	if f, own := parseProfileName(s.Name); own && f.readOnly && !s.ReadsRoot && (u == nil || u.base != "") {
		// The bridge repeated a profile of the user's that lets commands read only what it names.
		return &UserProfile{Name: s.Name, Problem: "it lets commands read only some folders; resume the thread with the permissions profile with which it was opened"}
	}
	missing := map[string]string{} // access by path
	for _, at := range s.Denied {
		ours := slices.ContainsFunc(slices.Concat(c.st.Sensitive, c.st.Secrets), func(kept string) bool { return Within(kept, at) }) // Hidden of an earlier bridge
		if at != "" && !ours && !u.has(accessDeny, at, c.openingFolder(), c.st.Home) {
			missing[at] = accessDeny
		}
	}
	for _, at := range c.storedReads() {
		denied := func(path string) bool {
			return slices.Contains(s.Denied, path) || u.has(accessDeny, path, c.openingFolder(), c.st.Home)
		}
		// Where a profile lets commands read only what it names, an entry "read" could also add something. Of the
		// user's own such profile the bridge lets commands write nothing, so that there is nothing to narrow.
		adds := u != nil && u.base == "" || !s.ReadsRoot && !Within(c.openingFolder(), at)
		if !adds && !isOrIsBelow(at, denied) && !u.has(accessRead, at, c.openingFolder(), c.st.Home) {
			missing[at] = accessRead
		}
	}
	if len(missing) == 0 {
		return u
	}
	all := UserProfile{Name: s.Name, Writes: true, base: builtinProfiles[WorkspaceWrite], depth: s.Depth}
	if u != nil {
		all = *u
	}
	all.access = map[string]map[string]string{}
	if u != nil {
		for key, subs := range u.access {
			all.access[key] = subs
		}
	}
	for at, access := range missing {
		subs := maps.Clone(all.access[at])
		if subs == nil {
			subs = map[string]string{}
		}
		subs["."] = narrower(subs["."], access)
		all.access[at] = subs
	}
	return &all
}

// storedReads returns the paths in folders which commands of the stored profile can write, and which they
// can only read. It leaves out those that the bridge or Codex protects anyway.
func (c *folders) storedReads() (reads []string) {
	unnamed := func(at string) bool { return at == "" } // a special path
	writable := slices.DeleteFunc(slices.Clone(c.st.Stored.Written), unnamed)
	for _, t := range c.st.Temps {
		writable = append(writable, t.Path)
	}
	folder, inRoots := c.openingFolder(), c.protectedInRoots()
	own := map[string]any{}
	if folder != "" {
		own = c.p.protectedEntries(c.st, []string{folder}, nil)
	}
	// Measured with Codex 0.169: these are read-only in each writable folder, whatever a profile says.
	byCodex := func(at string) bool {
		return slices.Contains(slices.Concat(governingFolders, []string{".aws"}), filepath.Base(at)) && slices.Contains(writable, filepath.Dir(at))
	}
	for _, at := range c.st.Stored.Read {
		if !unnamed(at) && WithinAny(writable, at) && !byCodex(at) && own[at] != accessRead && !slices.Contains(inRoots, at) {
			reads = append(reads, at)
		}
	}
	return reads
}

// goneProfile is a stored profile that the configuration does not have any more. Of what it let
// commands write the bridge keeps nothing.
func (s *StoredProfile) goneProfile(name string) *UserProfile {
	u := &UserProfile{Name: name, base: builtinProfiles[ReadOnly], depth: s.Depth, access: map[string]map[string]string{}}
	if !s.ReadsRoot {
		u.Problem = "the thread has it, and [permissions] has it no more"
		u.fix = "restore [permissions." + name + "], or resume the thread with a sandbox"
	}
	return u
}

// has reports whether the profile has an entry with that access for exactly a path or glob. u may be nil.
func (u *UserProfile) has(access, at, folder, home string) bool {
	if u == nil {
		return false
	}
	for key, subs := range u.access {
		base := key
		switch rest, inHome := strings.CutPrefix(key, "~"); {
		case key == workspaceRootsKey:
			base = folder
		case inHome:
			base = filepath.Join(home, rest)
		}
		for sub, is := range subs {
			if is == access && filepath.Join(base, sub) == filepath.Clean(at) {
				return true
			}
		}
	}
	return false
}
