package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Paths is the only way to the file system.
type Paths interface {
	// Canonical is the absolute path with all symbolic links resolved; for a path
	// that does not exist yet, its longest existing prefix is resolved and the
	// rest appended. On a file system that ignores case it is the one spelling
	// that the system itself gives. path is absolute and may hold . and ..
	Canonical(path string) (string, error)
}

// inPath reports whether path is, or is in, a folder from which Codex runs programs.
func (st State) isInPath(path string) bool {
	at := strings.ToLower(path)
	return slices.ContainsFunc(st.Programs, func(program string) bool { return Within(strings.ToLower(program), at) })
}

// holdsLink reports whether commands that can write path could turn a link to such a program.
func (st State) holdsLink(path string) bool {
	at := strings.ToLower(path)
	return slices.ContainsFunc(st.Links, func(link string) bool { return Within(at, strings.ToLower(link)) })
}

// holdsProgram reports whether commands that can write path could replace a program that runs
// outside of the sandbox.
func (st State) holdsProgram(path string) bool {
	at := strings.ToLower(path)
	return st.holdsLink(path) || slices.ContainsFunc(st.Programs, func(program string) bool { return overlaps(at, strings.ToLower(program)) })
}

// exposes reports whether a canonical path is, holds or is in a file or folder on which the policy
// rests: Codex's own folder, but for a worktree there, the user's configuration and the state folder.
// Writable roots that the user names are no exception.
func (st State) overlapsSensitive(path string) bool {
	folder := strings.ToLower(path)
	if home := strings.ToLower(st.CodexHome); home != "" && overlaps(folder, home) && !st.isWorktree(path) {
		return true
	}
	return slices.ContainsFunc(st.Sensitive, func(kept string) bool { return overlaps(folder, strings.ToLower(kept)) })
}

// worktree tells whether folder is one that codex makes a worktree in. Measured:
// codex --worktree works in CODEX_HOME/worktrees/ID/NAME.
func (st State) isWorktree(folder string) bool {
	all := filepath.Join(st.CodexHome, "worktrees")
	return folder != all && Within(all, folder)
}

// overlap tells whether one of two canonical paths lies in the other.
func overlaps(a, b string) bool { return Within(a, b) || Within(b, a) }

// within tells whether path is root or lies in it. Both are canonical.
func Within(root, path string) bool {
	if !strings.HasPrefix(path, root) {
		return false
	}
	return len(path) == len(root) || strings.HasSuffix(root, string(filepath.Separator)) || path[len(root)] == filepath.Separator
}

// governing are the folders in which there is more than a project's files: what git
// and codex run from there runs outside of every sandbox.
//
// Measured: codex keeps those of a writable root from being written under
// workspace-write, but not one that is itself named: as a root, a cwd, a workspace
// root, the cwd of an environment, or in a grant.
var governingFolders = []string{".git", ".codex", ".agents"}

const governingReason = "a .git, .codex or .agents folder, from where git and codex run things"

// outside says why a path may not be written, of which below is not true.
func outsideReason(path string) string {
	if isGoverning(path) {
		return "in " + governingReason + ", or outside the workspace and the writable roots"
	}
	return "outside the workspace and the writable roots"
}

// governs tells whether a path leads into such a folder. It does not regard case, so
// that a doubt forbids.
func isGoverning(path string) bool {
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		for _, g := range governingFolders {
			if strings.EqualFold(name, g) {
				return true
			}
		}
	}
	return false
}

// below tells whether path lies in root, and in no governing folder of it. Who names
// such a folder in policy.writable_roots means it.
func WritableBelow(root, path string) bool {
	return Within(root, path) && !isGoverning(path[len(root):])
}

// belowAny is below for any of the roots.
func writableBelowAny(roots []string, path string) bool {
	for _, r := range roots {
		if WritableBelow(r, path) {
			return true
		}
	}
	return false
}

func withinAny(roots []string, path string) bool {
	for _, r := range roots {
		if Within(r, path) {
			return true
		}
	}
	return false
}

// withinFold is within, regardless of case, so that a doubt forbids.
func withinFold(root, path string) bool { return Within(strings.ToLower(root), strings.ToLower(path)) }

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

// errPath says why a path can't be judged.
type errPath string

func (st State) canonical(path string) (string, error) {
	switch {
	case st.Paths == nil:
		return "", errPath("the file system can't be seen")
	case !filepath.IsAbs(path):
		return "", errPath("it is not an absolute path")
	case strings.ContainsRune(path, 0):
		return "", errPath("it is not a path")
	}
	out, err := st.Paths.Canonical(path)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(out) || !utf8.ValidString(out) {
		// JSON can't carry it, and what it would become names another folder.
		return "", errPath("its name can't be written in JSON")
	}
	return filepath.Clean(out), nil
}

// canonicalIn returns the canonical path of a file whose name is relative to cwd, or the joined path
// if it has no canonical one.
func (st State) canonicalIn(path, cwd string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	if at, err := st.canonical(path); err == nil {
		return at
	}
	return path
}

// resolve is canonical for a cwd. Measured: codex takes a relative cwd, always
// from the folder its process was started in, "" for that folder, and ~ for the
// home.
func (st State) ResolveCwd(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if st.Home == "" {
			return "", errPath("the home folder is not known")
		}
		return st.canonical(filepath.Join(st.Home, rest))
	}
	if !filepath.IsAbs(path) {
		if st.StartFolder == "" {
			return "", errPath("it is not an absolute path")
		}
		// Not Join: it would take a/.. away before a is seen to be a link.
		path = st.StartFolder + string(filepath.Separator) + path
	}
	return st.canonical(path)
}
