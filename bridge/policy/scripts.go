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

// CanWrite reports whether commands of the thread can write the file at a canonical path. It is true
// where that is unknown, and false for a thread without a sandbox.
func (t *Thread) CanWrite(st State, path string) bool {
	if t.Sandbox == fullAccess.String() || t.Sandbox == readOnly.String() && len(t.Writable) == 0 {
		return false
	}
	writable := slices.Concat([]string{t.Workspace}, t.Roots, t.Profile.Roots, t.Writable)
	for _, temp := range st.Temps {
		writable = append(writable, temp.Path)
	}
	return withinAny(writable, path) && !t.Profile.keeps(path)
}

// keeps reports whether the profile keeps commands from writing the file at a canonical path.
func (f Profile) keeps(path string) bool {
	isKept := func(access any) bool { return access == accessRead || access == accessDeny }
	if isOrIsBelow(path, func(at string) bool { return isKept(f.Entries[at]) }) {
		return true
	}
	below, _ := f.Entries[workspaceRootsKey].(map[string]string)
	for at, access := range below {
		for _, folder := range f.Folders {
			if isKept(access) && Within(filepath.Join(folder, filepath.FromSlash(at)), path) {
				return true
			}
		}
	}
	return false
}
