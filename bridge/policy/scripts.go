package policy

import (
	"path/filepath"
	"slices"
)

// scriptsIn returns the files in folder that commands of the configuration name by State.Scripts.
func (st State) scriptsIn(folder string) (files []string) {
	for _, name := range st.Scripts {
		if at := filepath.Join(folder, name); st.IsFile != nil && st.IsFile(at) {
			files = append(files, at)
		}
	}
	return files
}

// CanWrite reports whether commands of the thread can write the file at a canonical path. Where the sandbox is not
// known, it counts as workspace-write. It is false for a thread without a sandbox.
func (t *Thread) CanWrite(st State, path string) bool {
	if t.Sandbox == FullAccess.String() || t.Sandbox == ReadOnly.String() && len(t.Writable) == 0 {
		return false
	}
	writable := slices.Concat([]string{t.Workspace}, t.Roots, t.Profile.Roots, t.Writable)
	for _, temp := range st.Temps {
		writable = append(writable, temp.Path)
	}
	return WithinAny(writable, path) && (t.LacksProfile || !t.Profile.keeps(path))
}

// keeps reports whether the profile keeps commands from writing the file at a canonical path. The deepest entry
// counts, and of two for one folder "write".
func (f Profile) keeps(path string) (kept bool) {
	depth := -1
	add := func(at, access string) {
		if len(at) < depth || !Within(at, path) {
			return
		}
		kept = (access == accessRead || access == accessDeny) && (kept || len(at) > depth)
		depth = len(at)
	}
	for at, entry := range f.RootEntries {
		if access, ok := entry.(string); ok {
			add(at, access)
		}
	}
	for key, entry := range f.Entries {
		if access, ok := entry.(string); ok {
			add(key, access)
		}
		bases := []string{key}
		if key == workspaceRootsKey {
			bases = f.Folders
		}
		below, _ := entry.(map[string]string)
		for sub, access := range below {
			for _, base := range bases {
				add(filepath.Join(base, filepath.FromSlash(sub)), access)
			}
		}
	}
	return kept
}
