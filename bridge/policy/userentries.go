package policy

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// RuleUser names the part of Codex's configuration that a reason is about.
const RuleUser = defaultPermissionsKey

// originUser is the place of RuleUser, for messages.
const originUser = "Codex's configuration"

// narrowedPath is a path that an entry of the user's profile narrows to "read" or "deny".
type narrowedPath struct{ path, access string }

// userProfile returns the profile of the user's configuration that the request gets from Codex
// alone, or would get without its sandbox: the one that the request names, or that Codex restores, or
// else the default. It returns nil if that is a builtin profile, one of the bridge, or if there is none.
func (c *folders) userProfile() *UserProfile {
	d := c.st.Defaults
	if d == nil {
		return nil
	}
	name := d.userProfileName()
	for _, asked := range []string{TextOf(c.params.Get(permissionsKey)), c.st.NamedProfile} {
		if user := userProfileOf(asked); user != "" && IsUnset(c.params.Get("sandbox")) {
			name = user
		}
	}
	if !c.restores() {
		if s := c.st.Stored; s != nil && c.st.Rewritten && c.st.NamedProfile == "" && name != "" && userProfileOf(s.Name) == name && d.Profiles[name] == nil {
			return c.withStored(s.goneProfile(name)) // which another policy has put in
		}
		return d.userProfile(name)
	}
	stored := userProfileOf(c.st.Stored.Name)
	if stored != "" && d.Profiles[stored] == nil {
		return c.withStored(c.st.Stored.goneProfile(stored))
	}
	u := d.userProfile(cmp.Or(stored, name))
	if other := d.userProfile(name); stored != "" && stored != c.st.Stored.Name && other != nil && other.Name != stored {
		u = u.withBoth(other)
	}
	return c.withStored(u)
}

// userProfileOf returns the profile of the user's configuration which a name means: itself, or the bridge's profile
// that stands for it; "" if there is none.
func userProfileOf(name string) string {
	if f, own := parseProfileName(name); own {
		return f.user
	}
	if namesUserProfile(name) {
		return name
	}
	return ""
}

// namesUserProfile reports whether only the user's configuration can define a profile of that name.
func namesUserProfile(name string) bool {
	_, builtin := BuiltinProfileLevel(name)
	_, own := parseProfileName(name)
	return name != "" && !builtin && !own
}

// refuseUser refuses a request because the bridge can't keep what the user's profile denies.
func (c *request) refuseUser(u *UserProfile, problem string) {
	if c.err == nil {
		c.refuse(rpc.CodeRefused, "params", RuleUser, "the bridge can't keep what the permissions profile "+u.Name+" of Codex's configuration denies: "+problem, u.Hint())
	}
}

// narrowedPaths returns the canonical paths of entries without globs, for the folders of a thread.
func (c *request) narrowedPaths(entries map[string]map[string]string, folders []string) (all []narrowedPath) {
	for key, subs := range entries {
		var bases []string
		switch {
		case key == workspaceRootsKey:
			bases = folders
		case key == ":root":
			bases = []string{string(filepath.Separator)}
		case key == ":slash_tmp":
			bases = []string{"/tmp"}
		case key == ":tmpdir":
			for _, t := range c.st.Temps {
				bases = append(bases, t.Path)
			}
		case strings.HasPrefix(key, "~") && c.st.Home != "":
			bases = []string{filepath.Join(c.st.Home, key[1:])}
		case filepath.IsAbs(key):
			bases = []string{key}
		}
		for _, base := range bases {
			for sub, access := range subs {
				at := filepath.Join(base, sub)
				if key != ":root" && !strings.ContainsAny(key+sub, "*?[]") {
					all = append(all, narrowedPath{at, access})
					if to, err := c.st.Canonical(at); err == nil && to != at {
						all = append(all, narrowedPath{to, access})
					}
				}
			}
		}
	}
	return all
}

// narrowEntries adds the user's entries to those of the bridge. Each path gets the narrower access
// of both. It refuses the request if the bridge protects a path in a folder that the user's profile
// denies.
func (c *request) narrowEntries(entries map[string]any, u *UserProfile, folders []string) map[string]any {
	own := u.workspaceEntries()
	narrowed := c.narrowedPaths(own, folders)
	out := map[string]any{}
	for key, entry := range entries {
		switch entry := entry.(type) {
		case string:
			if entry == accessDeny && len(c.outsideDenied([]string{key}, u, folders)) == 0 {
				continue
			}
			out[key] = c.narrowedAccess(u, narrowed, []string{key}, entry)
		case map[string]string: // below each workspace root
			subs := map[string]string{}
			for sub, access := range entry {
				var paths []string
				for _, folder := range folders {
					paths = append(paths, filepath.Join(folder, filepath.FromSlash(sub)))
				}
				subs[sub] = c.narrowedAccess(u, narrowed, paths, access)
			}
			out[key] = subs
		}
	}
	for key, subs := range own {
		merged := maps.Clone(subs)
		switch had := out[key].(type) {
		case string:
			merged["."] = narrower(merged["."], had)
		case map[string]string:
			for sub, access := range had {
				merged[sub] = narrower(merged[sub], access)
			}
		}
		out[key] = entryOf(merged)
	}
	u.addDepth(out)
	return out
}

// outsideDenied returns the paths that are in no folder which the user's profile denies.
func (c *request) outsideDenied(paths []string, u *UserProfile, folders []string) (outside []string) {
	narrowed := c.narrowedPaths(u.access, folders)
	for _, path := range paths {
		if !slices.ContainsFunc(narrowed, func(n narrowedPath) bool {
			return n.access == accessDeny && n.path != path && Within(n.path, path)
		}) {
			outside = append(outside, path)
		}
	}
	return outside
}

// withoutSecrets returns the profile without entries inside the folders of State.Secrets, which the
// bridge denies as a whole.
func (c *request) withoutSecrets(u *UserProfile, folders []string) *UserProfile {
	other := *u
	other.access = map[string]map[string]string{}
	for key, subs := range u.access {
		for sub, access := range subs {
			base, below := withoutGlob(key), withoutGlob(sub)
			globs := base != key || below != sub
			if slices.ContainsFunc(c.narrowedPaths(map[string]map[string]string{base: {below: access}}, folders), func(n narrowedPath) bool {
				return slices.ContainsFunc(c.st.Secrets, func(at string) bool { return (globs || n.path != at) && Within(at, n.path) })
			}) {
				continue
			}
			if other.access[key] == nil {
				other.access[key] = map[string]string{}
			}
			other.access[key][sub] = access
		}
	}
	return &other
}

// withoutGlob returns the folder above the first wildcard of a path; the path if it has none.
func withoutGlob(path string) string {
	if at := strings.IndexAny(path, "*?[]"); at >= 0 {
		return filepath.Dir(path[:at] + "x")
	}
	return path
}

// narrowedAccess returns the access of an entry of the bridge for paths, as narrow as the user's
// entries at the paths and above.
func (c *request) narrowedAccess(u *UserProfile, narrowed []narrowedPath, paths []string, access string) string {
	for _, path := range paths {
		for _, n := range narrowed {
			if !Within(n.path, path) {
				continue
			}
			if path != n.path && n.access == accessDeny && access != accessDeny {
				c.refuseUser(u, "it denies "+n.path+", in which the bridge protects "+path+", and with both Codex could start no command")
			}
			access = narrower(access, n.access)
		}
	}
	return access
}

// openRoots returns the writable roots that the user's profile narrows nowhere at or above them.
func (c *request) openRoots(roots []string, u *UserProfile, folders []string) []string {
	narrowed := c.narrowedPaths(u.workspaceEntries(), folders)
	return slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
		return slices.ContainsFunc(narrowed, func(n narrowedPath) bool { return Within(n.path, root) })
	})
}
