package policy

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/rules"
)

// workspaceRootsKey is the key of a profile's entries for paths below each workspace root.
const workspaceRootsKey = ":workspace_roots"

// ProfileEntries returns the entries of the profile: the access of commands by path. They protect
// paths from writing, and hide the bridge's secrets. inner are those of folders.innerRoots.
func (p *Policy) ProfileEntries(st State, folders []string, inner map[string]string) map[string]any {
	entries := p.protectedEntries(st, folders, inner)
	switch {
	case len(st.Secrets) > 0:
		return hide(entries, slices.Concat(st.Secrets, st.Hidden))
	case len(entries) > 0 && !hasInnerFolders(entries):
		return hide(entries, st.Hidden)
	}
	return entries
}

// hasInnerFolders reports whether a path below each workspace root is protected in a folder that may be
// missing.
//
// Measured with Codex 0.169: with an entry "deny" it applies patches and reads AGENTS.md inside the
// sandbox. It can't mount a path below a missing folder there, see Guard.holdForRequest.
func hasInnerFolders(entries map[string]any) bool {
	relative, _ := entries[workspaceRootsKey].(map[string]string)
	for _, access := range relative {
		if access == accessWrite {
			return true
		}
	}
	return false
}

// hide adds entries that deny reading the outermost of the paths, and returns the entries.
//
// Measured with Codex 0.169: an entry below a denied folder lets no command start.
func hide(entries map[string]any, paths []string) map[string]any {
	denied := func(at string) bool { return entries[at] == accessDeny }
	for _, at := range outermost(paths) {
		if !isOrIsBelow(at, denied) {
			entries[at] = accessDeny
		}
	}
	for at := range entries {
		if slices.ContainsFunc(paths, func(path string) bool { return at != path && Within(path, at) }) {
			delete(entries, at)
		}
	}
	return entries
}

// isOrIsBelow reports whether holds is true for a path or a folder above it.
func isOrIsBelow(path string, holds func(string) bool) bool {
	for ; !holds(path); path = filepath.Dir(path) {
		if path == filepath.Dir(path) {
			return false
		}
	}
	return true
}

// protectedEntries returns the entries that protect paths from writing.
//
// Measured with Codex 0.169: the deeper of two entries wins, and "write" wins over "read" on one
// path. So no path with "read", or below one, gets "write". Below a path with "read" there is no
// entry, because Codex can't start a command if that path is missing.
func (p *Policy) protectedEntries(st State, folders []string, inner map[string]string) map[string]any {
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
	// Measured with Codex 0.169: a command could rename a folder above an entry, unless the folder
	// is a mount of its own.
	between := func(folder, at string) {
		for dir := filepath.Dir(at); dir != folder && Within(folder, dir) && !IsGoverning(dir[len(folder):]); dir = filepath.Dir(dir) {
			switch {
			case entries[dir] != nil || inRead(dir):
			case p.protectsBeyondCodex(dir[len(folder):]):
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
	relative := p.relativeEntries(st, folders, reads)
	for at, access := range relative {
		if access == "read" { // also for a turn in a subfolder
			entries[filepath.Join(folders[0], filepath.FromSlash(at))] = access
		}
	}
	if len(relative) > 0 {
		entries[workspaceRootsKey] = relative
	}
	// Measured with Codex 0.169: it resolves the links of $TMPDIR again for each command. With
	// TMPDIR=WORKSPACE/a/tmp a command renamed a and made a/tmp a link to CODEX_HOME, and the next
	// command could write there. A sandboxed command can't rename a mount. If the workspace is
	// replaced in this way, Codex runs no further command.
	for _, t := range st.Temps {
		for _, outer := range writable {
			if t.Path != outer && Within(outer, t.Path) {
				if entries[t.Path] == nil {
					entries[t.Path] = "write"
				}
				between(outer, t.Path)
			}
		}
	}
	st.addInnerRoots(entries, folders, inner, between)
	for at := range entries {
		temporary := slices.ContainsFunc(st.Temps, func(t TempFolder) bool { return t.Path == at })
		for dir := filepath.Dir(at); !temporary && filepath.IsAbs(at) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if entries[dir] == "read" {
				delete(entries, at)
				break
			}
		}
	}
	return entries
}

// readOnlyPaths returns the programs and policy files that commands must not write.
func (p *Policy) readOnlyPaths(st State, folders, writable []string) []string {
	var reads []string
	for _, program := range st.Programs {
		if WithinAny(writable, program) {
			reads = append(reads, program)
		}
	}
	for _, folder := range folders {
		for _, script := range st.scriptsIn(folder) {
			if at, err := st.Canonical(script); err == nil && WithinAny(writable, at) {
				reads = append(reads, at)
			}
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

// relativeEntries returns the entries for policy.protected_paths in each workspace root: "read" for
// the path, and "write" for each folder above it, which makes it a mount of its own. A folder that
// is read-only in one root is read-only in all. So is a file in place of such a folder: Codex can't
// mount anything below it, and would run no command.
func (p *Policy) relativeEntries(st State, folders, reads []string) map[string]string {
	ends := map[string]bool{} // ends of read-only paths, after rules.FoldCase
	add := func(path string) {
		names := strings.FieldsFunc(rules.FoldCase(path), func(c rune) bool { return c == '/' || c == '\\' })
		for i := range names {
			ends[strings.Join(names[i:], "/")] = true
		}
	}
	for _, read := range reads {
		add(read)
	}
	var own [][]string // paths that Codex does not protect itself
	for _, segments := range p.protected {
		if !IsGoverning(segments[0]) {
			own = append(own, segments)
			add(strings.Join(segments, "/")) // relative to a turn's subfolder
		}
	}
	relative := map[string]string{}
	for _, segments := range own {
		for i := 1; i <= len(segments); i++ {
			at := strings.Join(segments[:i], "/")
			if ends[rules.FoldCase(at)] || i < len(segments) && st.hasFile(folders, at) {
				relative[at] = "read"
				break
			}
			relative[at] = "write"
		}
	}
	return relative
}

// hasFile reports whether a path, relative to one of the folders, is a file.
func (st State) hasFile(folders []string, name string) bool {
	return st.IsFile != nil && slices.ContainsFunc(folders, func(folder string) bool {
		return st.IsFile(filepath.Join(folder, filepath.FromSlash(name)))
	})
}

// table returns the overlay's table `permissions`.
func (f Profile) table() []byte {
	type profile struct {
		Extends    string                     `json:"extends,omitempty"`
		Filesystem map[string]any             `json:"filesystem,omitempty"`
		Network    map[string]json.RawMessage `json:"network,omitempty"`
	}
	base := f.nameOf(profileVariant{})
	table := map[string]profile{base: {Extends: builtinProfiles[WorkspaceWrite], Filesystem: f.Entries}}
	if f.HasReadOnly() {
		table[f.nameOf(profileVariant{readOnly: true})] = profile{Extends: f.ReadOnlyBase, Filesystem: f.ReadOnly}
	}
	for i := 1; i < 16; i++ {
		v := profileVariant{network: i&1 != 0, noTmpdir: i&2 != 0, noSlashTmp: i&4 != 0, roots: i&8 != 0}
		if v.roots && len(f.Roots) == 0 { // the network is defined where it is forbidden, too: the policy may allow it later, and decides each turn
			continue
		}
		one := profile{Extends: base, Filesystem: map[string]any{}}
		if v.network {
			one.Network = map[string]json.RawMessage{"enabled": json.RawMessage("true")}
			for name, setting := range f.Network {
				one.Network[name] = setting
			}
		}
		excluded := map[string]bool{tmpdirKey: v.noTmpdir, slashTmpKey: v.noSlashTmp}
		for key, is := range excluded {
			if is && f.Entries[key] == nil { // an entry can only be as narrow, or narrower
				one.Filesystem[key] = accessRead
			}
		}
		for at, keys := range f.InTemps {
			stays := slices.ContainsFunc(keys, func(key string) bool { return !excluded[key] }) || v.roots && WithinAny(f.Roots, at)
			if !stays && f.accessOf(at) == accessWrite {
				one.Filesystem[at] = withAccess(f.Entries[at], accessRead)
			}
		}
		if v.roots {
			f.addRoots(one.Filesystem)
		}
		table[f.nameOf(v)] = one
	}
	raw, _ := json.Marshal(table) // texts, and JSON of a parsed text: it can't fail
	return raw
}

// withAccess returns the entry of a variant that changes the access to a path. It takes the place of the entry that the
// profile has for the same path, and so repeats what that says about paths below.
func withAccess(entry any, access string) any {
	below, ok := entry.(map[string]string)
	if !ok {
		return access
	}
	below = maps.Clone(below)
	below["."] = access
	return below
}
