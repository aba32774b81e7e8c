package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"codex-bridge.example/bridge/rules"
)

// Paths resolves paths. It is the package's only access to the file system. It returns a PathError
// for a path with which another process may find a file, and other errors for a path that no process
// can open.
type Paths interface {
	// Canonical returns the absolute path with all symbolic links resolved. If the path does not
	// exist, it resolves the longest existing prefix and appends the rest. On a case-insensitive
	// file system it returns the system's spelling. path is absolute and may contain "." and "..".
	Canonical(path string) (string, error)
	// Follow is Canonical with the path read as the kernel reads it, name by name: ".." behind a
	// link is the folder above the link's target, and a link whose target is missing leads to the
	// place of its target.
	Follow(path string) (string, error)
	// Readings returns the paths by which the kernel reaches a file: with each link on the way, the
	// path in which the link is the next name, then the canonical path, and also Follow's if path has
	// "..". Without a link it is only the canonical path. After an error it also returns what it has
	// found.
	Readings(path string) ([]string, error)
}

// IsInPath reports whether path is, or is in, a program or a folder of PATH.
func (st State) IsInPath(path string) bool {
	at := rules.FoldCase(path)
	return slices.ContainsFunc(st.Programs, func(program string) bool { return Within(rules.FoldCase(program), at) })
}

// holdsLink reports whether commands that can write path could change a link to a program.
func (st State) holdsLink(path string) bool {
	at := rules.FoldCase(path)
	return slices.ContainsFunc(st.Links, func(link string) bool { return Within(at, rules.FoldCase(link)) })
}

// holdsProgram reports whether commands that can write path could replace a program that runs
// outside the sandbox.
func (st State) holdsProgram(path string) bool {
	at := rules.FoldCase(path)
	return st.holdsLink(path) || slices.ContainsFunc(st.Programs, func(program string) bool { return Overlaps(at, rules.FoldCase(program)) })
}

// OverlapsSensitive reports whether a canonical path is, contains or is in CODEX_HOME (except a
// worktree there) or one of State.Sensitive. Configured writable roots are no exception.
func (st State) OverlapsSensitive(path string) bool {
	folder := rules.FoldCase(path)
	if home := rules.FoldCase(st.CodexHome); home != "" && Overlaps(folder, home) && !st.isWorktree(path) {
		return true
	}
	return slices.ContainsFunc(st.Sensitive, func(kept string) bool { return Overlaps(folder, rules.FoldCase(kept)) })
}

// isWorktree reports whether Codex creates worktrees in folder. Measured with Codex 0.169: codex
// --worktree works in CODEX_HOME/worktrees/ID/NAME.
func (st State) isWorktree(folder string) bool {
	all := filepath.Join(st.CodexHome, "worktrees")
	return folder != all && Within(all, folder)
}

// Overlaps reports whether one of two canonical paths is in the other, or they are equal.
func Overlaps(a, b string) bool { return Within(a, b) || Within(b, a) }

// Within reports whether path is root or is in it. Both are canonical.
func Within(root, path string) bool {
	if !strings.HasPrefix(path, root) {
		return false
	}
	return len(path) == len(root) || strings.HasSuffix(root, string(filepath.Separator)) || path[len(root)] == filepath.Separator
}

// governingFolders are folders from which git and Codex run programs outside the sandbox.
//
// Measured with Codex 0.169: under workspace-write it protects these folders in a writable root. It
// does not protect one that is itself a root, cwd, workspace root, cwd of an environment, or part
// of a grant.
var governingFolders = []string{".git", ".codex", ".agents"}

const governingReason = "a .git, .codex or .agents folder, from which git and Codex run programs"

// outsideReason returns why a path is not writable below any root.
func outsideReason(path string) string {
	if IsGoverning(path) {
		return "in " + governingReason + ", or outside the workspace and the writable roots"
	}
	return "outside the workspace and the writable roots"
}

// IsGoverning reports whether path leads into such a folder. It ignores case, which is the stricter
// choice.
func IsGoverning(path string) bool {
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		for _, g := range governingFolders {
			if strings.EqualFold(name, g) {
				return true
			}
		}
	}
	return false
}

// WritableBelow reports whether a sandbox with the writable root root lets path be written: path is
// in root, and in no governing folder of it. A governing folder that is itself in
// policy.writable_roots is writable.
func WritableBelow(root, path string) bool {
	return Within(root, path) && !IsGoverning(path[len(root):])
}

// WritableBelowAny is WritableBelow for any of the roots.
func WritableBelowAny(roots []string, path string) bool {
	for _, r := range roots {
		if WritableBelow(r, path) {
			return true
		}
	}
	return false
}

// WithinAny is Within for any of the roots.
func WithinAny(roots []string, path string) bool {
	for _, r := range roots {
		if Within(r, path) {
			return true
		}
	}
	return false
}

// withinFold is Within without regard to case, which is the stricter choice.
func withinFold(root, path string) bool { return Within(rules.FoldCase(root), rules.FoldCase(path)) }

// outermost returns the paths that are in none of the others.
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

// PathError is the reason why a path has no canonical form, although a file may be there.
type PathError string

func (e PathError) Error() string { return string(e) }

// Canonical returns the canonical path. See Paths.Canonical.
func (st State) Canonical(path string) (string, error) {
	return st.resolve(path, Paths.Canonical)
}

// Follow returns the canonical path of a file that a command opens by path. See Paths.Follow.
func (st State) Follow(path string) (string, error) { return st.resolve(path, Paths.Follow) }

func (st State) resolve(path string, by func(Paths, string) (string, error)) (string, error) {
	if err := st.checkPath(path); err != nil {
		return "", err
	}
	out, err := by(st.Paths, path)
	if err != nil {
		return "", err
	}
	if !isPlain(out) {
		return "", errNotPlain
	}
	return filepath.Clean(out), nil
}

// checkPath returns an error for a path that can't be resolved.
func (st State) checkPath(path string) error {
	switch {
	case st.Paths == nil:
		return PathError("the bridge has no access to the file system")
	case !filepath.IsAbs(path):
		return PathError("it is not an absolute path")
	case strings.ContainsRune(path, 0):
		return PathError("it is not a path")
	}
	return nil
}

// errNotPlain is the error for a resolved path that is not plain.
const errNotPlain = PathError("its name can't be written in JSON")

// isPlain reports whether a resolved path can be written in JSON. Otherwise JSON would change the name, and
// it would name another folder.
func isPlain(path string) bool { return filepath.IsAbs(path) && utf8.ValidString(path) }

// ResolveCwd returns the canonical path of a cwd as Codex reads it.
func (st State) ResolveCwd(path string) (string, error) {
	path, err := st.AbsoluteCwd(path)
	if err != nil {
		return "", err
	}
	return st.Canonical(path)
}

// AbsoluteCwd returns the absolute path of a cwd as Codex reads it, with its links. Measured with Codex 0.169: a
// relative cwd starts at Codex's start folder, "" is that folder, and ~ is the home folder.
func (st State) AbsoluteCwd(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if st.Home == "" {
			return "", PathError("the home folder is not known")
		}
		return st.Home + rest, nil
	}
	if !filepath.IsAbs(path) {
		if st.StartFolder == "" {
			return "", PathError("it is not an absolute path")
		}
		// filepath.Join would remove "a/.." even if a is a link.
		path = st.StartFolder + string(filepath.Separator) + path
	}
	return path, nil
}
