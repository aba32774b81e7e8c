package policy

import (
	"maps"
	"path/filepath"
	"slices"
)

// rootEntries takes the entries "write" in the writable roots of Codex's configuration out of entries, and adds those for
// policy.protected_paths in each of these roots. They belong into the variants "-roots" of the profile: elsewhere an entry
// "write" would make a part of a root writable.
//
// Measured with Codex 0.169: the entries below each workspace root do not count in such a root, which is none.
func (st State) rootEntries(entries map[string]any, roots []string) map[string]any {
	inRoots := map[string]any{}
	for at, access := range entries {
		inTemp := slices.ContainsFunc(st.Temps, func(t TempFolder) bool { return Within(t.Path, at) })
		if access == accessWrite && WithinAny(roots, at) && !inTemp {
			inRoots[at] = access
			delete(entries, at)
		}
	}
	relative, _ := entries[workspaceRootsKey].(map[string]string)
	for _, root := range roots {
		if st.IsFile != nil && st.IsFile(root) { // it has nothing below it
			continue
		}
		for name, access := range relative {
			if at := filepath.Join(root, filepath.FromSlash(name)); access == accessRead || inRoots[at] == nil {
				inRoots[at] = access
			}
		}
	}
	isReadOnly := func(at string) bool {
		return inRoots[at] == accessRead || entries[at] == accessRead || entries[at] == accessDeny
	}
	maps.DeleteFunc(inRoots, func(at string, _ any) bool { // a deeper entry would win, and one for a missing path lets no command start
		return isOrIsBelow(filepath.Dir(at), isReadOnly) || entries[at] == accessRead || entries[at] == accessDeny
	})
	return inRoots
}

// dropNarrowedEntries removes the entries for paths in roots of which the user's profile lets commands write nothing, and
// for those in other roots.
func (c *request) dropNarrowedEntries(inRoots map[string]any, roots []string, u *UserProfile, folders []string) {
	narrowed := c.narrowedPaths(u.workspaceEntries(), folders)
	maps.DeleteFunc(inRoots, func(at string, _ any) bool {
		return !WithinAny(roots, at) || slices.ContainsFunc(narrowed, func(n narrowedPath) bool { return Within(n.path, at) })
	})
}

// AddRoots adds the entries of a variant "-roots".
func (f Profile) addRoots(filesystem map[string]any) {
	all := maps.Clone(f.RootEntries)
	if all == nil {
		all = map[string]any{}
	}
	for _, root := range f.Roots {
		all[root] = accessWrite
	}
	for at, access := range all {
		if has := f.accessOf(at); has != accessRead && has != accessDeny {
			filesystem[at] = withAccess(f.Entries[at], access.(string))
		}
	}
}

// coversRoots reports whether the profile protects what needed protects in the roots that it makes writable.
func (f Profile) coversRoots(needed Profile) bool {
	inRoots := maps.Clone(needed.RootEntries)
	maps.DeleteFunc(inRoots, func(at string, _ any) bool { return !WithinAny(f.Roots, at) })
	return coversEntries(f.RootEntries, inRoots)
}

// protectedInRoots returns the paths that the bridge protects in the writable roots of Codex's configuration.
func (c *folders) protectedInRoots() (paths []string) {
	folder := c.openingFolder()
	if c.st.Defaults == nil || folder == "" {
		return nil
	}
	roots, _ := c.allowedDefaultRoots()
	entries := c.p.protectedEntries(c.st, slices.Concat([]string{folder}, roots), nil)
	for at, access := range c.st.rootEntries(entries, roots) {
		if access == accessRead {
			paths = append(paths, at)
		}
	}
	return paths
}
