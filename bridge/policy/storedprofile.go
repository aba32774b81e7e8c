package policy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// StoredProfile is what Codex's record of a thread says of the permissions of its last turn.
//
// Measured with Codex 0.169: a cold resume restores them, even if the configuration does not have
// the profile any more.
type StoredProfile struct {
	Name      string          // of the profile; "" if there was none
	Denied    []string        // paths and globs that commands can't read
	Depth     json.RawMessage // the depth to which Codex looks for files that globs match; nil if unlimited
	ReadsRoot bool            // commands can read what no entry denies
}

// ParseStoredProfile reads the settings of a turn, as package rollout returns them.
func ParseStoredProfile(settings rpc.Value) *StoredProfile {
	s := &StoredProfile{Name: textOf(settings.Get("activePermissionProfile").Get("id"))}
	files := settings.Get("permissionProfile").Get("file_system")
	if depth := files.Get(globDepthKey); !isUnset(depth) {
		s.Depth = cloneRaw(depth)
	}
	for entry := range files.Get("entries").Elements() {
		path, access := entry.Get("path"), textOf(entry.Get("access"))
		switch {
		case path.Get("value").Get("kind").Is("root"):
			s.ReadsRoot = access == accessRead || access == accessWrite
		case access == accessRead || access == accessWrite:
		case path.Get("type").Is("path"):
			s.Denied = append(s.Denied, textOf(path.Get("path")))
		default:
			s.Denied = append(s.Denied, textOf(path.Get("pattern")))
		}
	}
	return s
}

// restores reports whether Codex alone would give the thread of the request its stored profile.
func (c *decider) restores() bool {
	return c.st.Stored != nil && !c.spec.startsThread && c.st.LoadedProfile == nil &&
		isUnset(c.params.Get("sandbox")) && isUnset(c.params.Get(permissionsKey))
}

// withStored adds to u what the stored profile denies and u does not. u may be nil.
func (c *decider) withStored(u *UserProfile) *UserProfile {
	s := c.st.Stored
	if f, own := parseProfileName(s.Name); own && f.readOnly && !s.ReadsRoot && (u == nil || u.base != "") {
		// The bridge repeated a profile of the user's that lets commands read only what it names.
		return &UserProfile{Name: s.Name, Problem: "it lets commands read only some folders; resume the thread with the permissions profile with which it was opened"}
	}
	var missing []string
	for _, at := range s.Denied {
		ours := slices.ContainsFunc(slices.Concat(c.st.Sensitive, c.st.Secrets), func(kept string) bool { return Within(kept, at) }) // Hidden of an earlier bridge
		if at != "" && !ours && (u == nil || !u.denies(at, c.openingFolder(), c.st.Home)) {
			missing = append(missing, at)
		}
	}
	if len(missing) == 0 {
		return u
	}
	all := UserProfile{Name: s.Name, Writes: true, base: builtinProfiles[workspaceWrite], depth: s.Depth}
	if u != nil {
		all = *u
	}
	all.access = map[string]map[string]string{}
	if u != nil {
		for key, subs := range u.access {
			all.access[key] = subs
		}
	}
	for _, at := range missing {
		all.access[at] = map[string]string{".": accessDeny}
	}
	return &all
}

// goneProfile is a stored profile that the configuration does not have any more. Of what it let
// commands write the bridge keeps nothing.
func (s *StoredProfile) goneProfile() *UserProfile {
	u := &UserProfile{Name: s.Name, base: builtinProfiles[readOnly], depth: s.Depth, access: map[string]map[string]string{}}
	if !s.ReadsRoot {
		u.Problem = "the thread has it, and [permissions] has it no more"
	}
	return u
}

// denies reports whether the profile has an entry that denies exactly a path or glob.
func (u *UserProfile) denies(at, folder, home string) bool {
	for key, subs := range u.access {
		base := key
		switch rest, inHome := strings.CutPrefix(key, "~"); {
		case key == workspaceRootsKey:
			base = folder
		case inHome:
			base = filepath.Join(home, rest)
		}
		for sub, access := range subs {
			if access == accessDeny && filepath.Join(base, sub) == filepath.Clean(at) {
				return true
			}
		}
	}
	return false
}
