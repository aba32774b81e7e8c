package policy

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/rules"
)

// IsProtected reports whether path leads into a protected path, at any depth of a root. If path is
// in no root, all of it counts. It ignores case, which is the stricter choice.
func (p *Policy) IsProtected(roots []string, path string) bool {
	return p.LeadsInto(relativeToRoot(roots, path), func([]string) bool { return true })
}

// relativeToRoot returns path relative to the innermost root that contains it; the whole path if
// none does.
func relativeToRoot(roots []string, path string) string {
	rest := path
	for _, root := range roots {
		if Within(root, path) && len(path)-len(root) < len(rest) {
			rest = path[len(root):]
		}
	}
	return rest
}

// protectsBeyondCodex reports whether path leads into one of policy.protected_paths that Codex
// itself does not protect.
func (p *Policy) protectsBeyondCodex(path string) bool {
	return p.LeadsInto(path, func(kept []string) bool { return !IsGoverning(kept[0]) })
}

// LeadsToProtected reports whether the last names of a folder are the first names of a protected
// path, such as .github for .github/workflows. In such a writable root, a file's relative path does
// not show that the file is protected.
func (p *Policy) LeadsToProtected(folder string) bool {
	return slices.ContainsFunc(p.protected, func(kept []string) bool {
		for n := 1; n < len(kept); n++ {
			if tail := rules.FoldCase(filepath.Join(kept[:n]...)); strings.HasSuffix(rules.FoldCase(filepath.Clean(folder)), string(filepath.Separator)+tail) {
				return true
			}
		}
		return false
	})
}

// usualNames is the number of names up to which LeadsInto allocates nothing.
const usualNames = 32

// LeadsInto reports whether path leads into a protected path for which counts returns true.
func (p *Policy) LeadsInto(path string, counts func(kept []string) bool) bool {
	var usual [usualNames]string
	names := appendNames(usual[:0], path)
	for i, name := range names {
		candidates := p.protected
		if !strings.Contains(name, "*") {
			candidates = p.protectedByName[rules.FoldCase(name)]
		}
		for _, kept := range candidates {
			if hasNames(names[i:], kept) && counts(kept) {
				return true
			}
		}
	}
	return false
}

// splitPath returns the names of a path.
func splitPath(path string) []string { return appendNames(nil, path) }

// appendNames appends the names of a path to names.
func appendNames(names []string, path string) []string {
	for name := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		names = append(names, name)
	}
	return names
}

// hasNames reports whether names starts with the names of kept. It ignores case, which is the
// stricter choice. An asterisk matches any characters, but a name of only asterisks matches
// nothing, because it is completely unknown.
func hasNames(names, kept []string) bool {
	return len(names) >= len(kept) && slices.EqualFunc(names[:len(kept)], kept, mayMatch)
}

// mayMatch reports whether a name, with asterisks for unknown characters, may be kept.
func mayMatch(name, kept string) bool {
	if !strings.Contains(name, "*") {
		return strings.EqualFold(name, kept)
	}
	if strings.Trim(name, "*") == "" {
		return false
	}
	literal := strings.NewReplacer("[", "\\[", "?", "\\?", "\\", "\\\\")
	matched, err := path.Match(literal.Replace(rules.FoldCase(name)), rules.FoldCase(kept))
	return matched || err != nil
}

// IsInProtected reports whether a folder is in one of policy.protected_paths or leads to one. The
// whole path counts, because a command could create a repository at any depth.
func (p *Policy) IsInProtected(folder string) bool {
	return p.LeadsToProtected(folder) || p.protectsBeyondCodex(folder)
}

// OverlapsProtected reports whether a canonical path overlaps policy files of the thread's folders,
// policy.protected_paths, or programs that run outside the sandbox.
//
// Measured with Codex 0.169: a grant of a folder makes paths below it writable for which the
// profile has "read".
func (p *Policy) OverlapsProtected(st State, roots []string, path string) bool {
	if st.holdsProgram(path) || p.IsProtected(roots, path) || p.LeadsToProtected(path) {
		return true
	}
	folders := append(slices.Clone(roots), st.StartFolder)
	if st.Thread != nil {
		folders = append(folders, st.Thread.Workspace)
	}
	for _, folder := range append(folders, st.Workspaces...) {
		if folder != "" && folder != path && Within(path, folder) {
			return true // Codex protects .git and the like only at the top of a granted folder
		}
	}
	var protected []string
	for _, folder := range folders {
		for _, segments := range p.protected {
			if folder != "" && !IsGoverning(segments[0]) { // Codex excludes those from a grant that does not name them
				protected = append(protected, filepath.Join(append([]string{folder}, segments...)...))
			}
		}
	}
	if st.PolicyFiles != nil {
		for _, folder := range folders {
			if folder != "" {
				protected = append(protected, st.PolicyFiles.PolicyFiles(folder)...)
			}
		}
		if st.OtherPolicyFile(path, "") != "" {
			return true
		}
	}
	return slices.ContainsFunc(protected, func(at string) bool { return Overlaps(rules.FoldCase(path), rules.FoldCase(at)) })
}

// mountsReadOnly reports whether commands can't write the protected path kept at the top of the
// workspace. Codex mounts it read-only, or the thread is read-only. Grants never contain such a
// path.
func (t *Thread) mountsReadOnly(kept []string) bool {
	switch t.Sandbox {
	case ReadOnly.String():
		return true
	case WorkspaceWrite.String():
		return IsGoverning(kept[0]) || t.Profile.Defined && !t.LacksProfile && slices.ContainsFunc(t.Profile.Protected, func(p []string) bool { return slices.Equal(p, kept) })
	}
	return false
}

// ReadOnlyNames returns the paths that the profile makes read-only below each workspace root, with
// slashes.
func (f Profile) ReadOnlyNames() []string { return f.namesWith(accessRead) }

// WritableNames returns the folders above these paths, which the profile makes mounts of their own.
func (f Profile) WritableNames() []string { return f.namesWith(accessWrite) }

func (f Profile) namesWith(access string) (names []string) {
	relative, _ := f.Entries[workspaceRootsKey].(map[string]string)
	for name, has := range relative {
		if has == access {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// addProtected adds paths to policy.protected_paths. p is a copy.
func (p *Policy) addProtected(paths [][]string) {
	p.protectedByName = maps.Clone(p.protectedByName)
	for _, segments := range paths {
		if slices.ContainsFunc(p.protected, func(own []string) bool { return slices.Equal(own, segments) }) {
			continue
		}
		first := rules.FoldCase(segments[0])
		p.protected = append(slices.Clip(p.protected), segments)
		p.protectedByName[first] = append(slices.Clip(p.protectedByName[first]), segments)
	}
}

// ProtectsMore reports whether policy.protected_paths has more than the governing folders, which Codex itself protects.
func (p *Policy) ProtectsMore() bool {
	return slices.ContainsFunc(p.protected, func(names []string) bool { return !IsGoverning(names[0]) })
}

// ChangesProtected reports whether path leads into a protected path of a root that Codex does not
// mount read-only. A relative path is a part of a path. A computed path does not count for .git and
// other folders that Codex protects, because common scripts remove "$tmp/.git".
func (p *Policy) ChangesProtected(path string, computed bool, roots []string, st State) bool {
	seen, top := path, "" // in its root, and in the workspace, at whose top Codex mounts them
	if filepath.IsAbs(path) {
		if path = filepath.Clean(path); !WithinAny(roots, path) {
			return false
		}
		seen = relativeToRoot(roots, path)
		if Within(st.Thread.Workspace, path) {
			top = path[len(st.Thread.Workspace):]
		}
	}
	topNames := splitPath(top)
	counts := func(kept []string) bool {
		return !(computed && IsGoverning(kept[0])) && !(hasNames(topNames, kept) && st.Thread.mountsReadOnly(kept))
	}
	return p.LeadsInto(seen, counts) || strings.Contains(seen, "..") && p.LeadsInto(filepath.Clean(seen), counts)
}
