package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"codex-bridge/bridge/config"
)

// root is one entry of policy.writable_roots.
type root struct {
	base rootBase
	rest string // below the base; the whole path of a literal one
	text string // as it was configured
}

type rootBase uint8

const (
	literalRoot rootBase = iota
	workspaceRoot
	homeRoot
)

const workspaceWord = "${workspace}"

func parseRoot(text string) (root, error) {
	for _, b := range [...]struct {
		word string
		base rootBase
	}{{workspaceWord, workspaceRoot}, {"~", homeRoot}} {
		rest, ok := strings.CutPrefix(text, b.word)
		if !ok {
			continue
		}
		if rest != "" && !strings.HasPrefix(rest, "/") {
			return root{}, fmt.Errorf("%q: %s is followed by / or nothing", text, b.word)
		}
		rest = filepath.FromSlash(strings.Trim(rest, "/"))
		if rest != "" && !filepath.IsLocal(rest) {
			return root{}, fmt.Errorf("%q leads out of %s", text, b.word)
		}
		return root{b.base, rest, text}, nil
	}
	if strings.Contains(text, "${") {
		return root{}, fmt.Errorf("%q: only %s is known, and only at the start", text, workspaceWord)
	}
	if !filepath.IsAbs(text) {
		return root{}, fmt.Errorf("%q is neither absolute nor begins with %s or ~", text, workspaceWord)
	}
	return root{literalRoot, filepath.Clean(text), text}, nil
}

// allowed are the folders that policy.writable_roots names for this thread, all
// canonical.
func (c *call) allowed() []string {
	if !c.expanded {
		c.granted, c.expanded = c.p.allowed(c.st, c.workspace), true
	}
	return c.granted
}

func (p *Policy) allowed(st State, workspace string) []string {
	var out []string
	for _, r := range p.roots {
		switch r.base {
		case workspaceRoot:
			// A folder below the workspace is not resolved: the agent may have made a
			// link of it, and the link's target would then be allowed. Left as it is,
			// nothing canonical lies in a link.
			if usableWorkspace(st, workspace) {
				out = append(out, filepath.Join(workspace, r.rest))
			}
		default:
			if at, linked := r.resolve(st); at != "" && !linked {
				out = append(out, at)
			}
		}
	}
	for _, q := range p.beside {
		out = inBoth(out, q.allowed(st, workspace))
	}
	return out
}

// resolve returns where a root outside of the workspace leads, "" if that can't be found out, and
// whether it is, or is behind, a link. Such a root allows nothing, because a command may have made
// the link.
func (r root) resolve(st State) (at string, linked bool) {
	path := r.rest
	if r.base == homeRoot {
		if st.Home == "" {
			return "", false
		}
		path = filepath.Join(st.Home, r.rest)
	}
	at, err := st.canonical(path)
	if err != nil {
		return "", false
	}
	return at, !strings.EqualFold(at, path)
}

// LinkedRootError reports one of policy.writable_roots that allows nothing because it is, or is
// behind, a link.
type LinkedRootError struct{ Root, Target string }

func (e *LinkedRootError) Error() string { return e.Problem() + "; " + e.Hint() }

// Problem names the root and where it leads.
func (e *LinkedRootError) Problem() string {
	return fmt.Sprintf("policy.writable_roots: %s leads to %s by a link, which a command could replace", e.Root, e.Target)
}

// Hint returns how to fix it.
func (e *LinkedRootError) Hint() string { return "name " + e.Target + " instead" }

// LinkedRoots returns an error for each such root, nothing unless the policy is enforced and lets some
// thread write.
func (p *Policy) LinkedRoots(st State) []*LinkedRootError {
	if p.mode != config.Enforce || p.limit == readOnly {
		return nil
	}
	var out []*LinkedRootError
	for _, r := range p.roots {
		if r.base == workspaceRoot {
			continue
		}
		if at, linked := r.resolve(st); linked {
			out = append(out, &LinkedRootError{r.text, at})
		}
	}
	return out
}

// usableWorkspace tells whether ${workspace} may stand for this folder.
func usableWorkspace(st State, workspace string) bool { return st.unusable(workspace) == "" }

// unusable says why ${workspace} may not stand for this folder, or "". The root of
// the file system, the home folder and what lies above it hold keys and start-up
// files; a thread that was opened there by accident must not own them. And a thread
// that may write codex's own folder, or the policy, can give itself anything.
//
// Measured: in a thread with the cwd CODEX_HOME and workspace-write a command wrote
// config.toml, rules/ and auth.json, and nobody was asked.
func (st State) unusable(workspace string) string {
	if workspace == "" {
		return "is not known"
	}
	// Without regard to case, so that a doubt forbids.
	folder := strings.ToLower(workspace)
	if filepath.Dir(workspace) == workspace || st.Home != "" && within(folder, strings.ToLower(st.Home)) {
		return "is, or holds, the home folder or the whole file system; open a folder inside"
	}
	project := workspace
	if home := strings.ToLower(st.CodexHome); home != "" && overlap(folder, home) {
		if !st.worktree(workspace) {
			return "is, holds or lies in codex's own folder " + st.CodexHome + "; open another folder"
		}
		project = workspace[len(st.CodexHome):] // which is itself called .codex
	}
	if governs(project) {
		return "lies in " + governingFolder + "; open the project's own folder"
	}
	for _, kept := range st.Sensitive {
		if overlap(folder, strings.ToLower(kept)) {
			return "is, holds or lies in " + kept + ", on which the policy rests; open another folder"
		}
	}
	if st.inPath(workspace) {
		return "lies in a folder of PATH, from which codex runs programs; remove that from PATH, or open another folder"
	}
	for _, link := range st.Links {
		if within(folder, strings.ToLower(link)) {
			return "holds the link " + link + ", through which a program is found that runs outside of the sandbox, or $TMPDIR; name what it leads to"
		}
	}
	return ""
}

// inPath reports whether path is, or is in, a folder from which Codex runs programs.
func (st State) inPath(path string) bool {
	at := strings.ToLower(path)
	return slices.ContainsFunc(st.Programs, func(program string) bool { return within(strings.ToLower(program), at) })
}

// holdsLink reports whether commands that can write path could turn a link to such a program.
func (st State) holdsLink(path string) bool {
	at := strings.ToLower(path)
	return slices.ContainsFunc(st.Links, func(link string) bool { return within(at, strings.ToLower(link)) })
}

// holdsProgram reports whether commands that can write path could replace a program that runs
// outside of the sandbox.
func (st State) holdsProgram(path string) bool {
	at := strings.ToLower(path)
	return st.holdsLink(path) || slices.ContainsFunc(st.Programs, func(program string) bool { return overlap(at, strings.ToLower(program)) })
}

// exposes reports whether a canonical path is, holds or is in a file or folder on which the policy
// rests: Codex's own folder, but for a worktree there, the user's configuration and the state folder.
// Writable roots that the user names are no exception.
func (st State) exposes(path string) bool {
	folder := strings.ToLower(path)
	if home := strings.ToLower(st.CodexHome); home != "" && overlap(folder, home) && !st.worktree(path) {
		return true
	}
	return slices.ContainsFunc(st.Sensitive, func(kept string) bool { return overlap(folder, strings.ToLower(kept)) })
}

// worktree tells whether folder is one that codex makes a worktree in. Measured:
// codex --worktree works in CODEX_HOME/worktrees/ID/NAME.
func (st State) worktree(folder string) bool {
	all := filepath.Join(st.CodexHome, "worktrees")
	return folder != all && within(all, folder)
}

// overlap tells whether one of two canonical paths lies in the other.
func overlap(a, b string) bool { return within(a, b) || within(b, a) }

// Within reports whether a canonical path is root or is in it.
func Within(root, path string) bool { return within(root, path) }

// within tells whether path is root or lies in it. Both are canonical.
func within(root, path string) bool {
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
var governing = []string{".git", ".codex", ".agents"}

const governingFolder = "a .git, .codex or .agents folder, from where git and codex run things"

// outside says why a path may not be written, of which below is not true.
func outside(path string) string {
	if governs(path) {
		return "in " + governingFolder + ", or outside the workspace and the writable roots"
	}
	return "outside the workspace and the writable roots"
}

// governs tells whether a path leads into such a folder. It does not regard case, so
// that a doubt forbids.
func governs(path string) bool {
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		for _, g := range governing {
			if strings.EqualFold(name, g) {
				return true
			}
		}
	}
	return false
}

// WritableBelow reports whether a sandbox that lets root be written lets path be written. Both are canonical.
func WritableBelow(root, path string) bool { return below(root, path) }

// below tells whether path lies in root, and in no governing folder of it. Who names
// such a folder in policy.writable_roots means it.
func below(root, path string) bool { return within(root, path) && !governs(path[len(root):]) }

// belowAny is below for any of the roots.
func belowAny(roots []string, path string) bool {
	for _, r := range roots {
		if below(r, path) {
			return true
		}
	}
	return false
}

func withinAny(roots []string, path string) bool {
	for _, r := range roots {
		if within(r, path) {
			return true
		}
	}
	return false
}

// errPath says why a path can't be judged.
type errPath string

func (e errPath) Error() string { return string(e) }

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

// ResolveCwd returns the canonical path of the folder that Codex takes a cwd for.
func (st State) ResolveCwd(cwd string) (string, error) { return st.resolve(cwd) }

// resolve is canonical for a cwd. Measured: codex takes a relative cwd, always
// from the folder its process was started in, "" for that folder, and ~ for the
// home.
func (st State) resolve(path string) (string, error) {
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

// enclosing returns a folder above a writable root that commands of this turn or of another may write:
// the workspace, another of policy.writable_roots, or a temporary folder. It returns "" if there is
// none. A command could replace the root by a link, and Codex would let the next one write where the
// link leads.
//
// Measured with Codex 0.169, for writableRoots of a sandboxPolicy: with ["WORKSPACE/a/sub"] a command
// renamed a and made a/sub a link. Codex follows it at the next turn.
func (c *call) enclosing(root string) string {
	folders := append(slices.Clone(c.allowed()), c.workspace)
	for _, t := range c.st.Temps {
		folders = append(folders, t.Path)
	}
	for _, folder := range folders {
		if folder != "" && folder != root && below(folder, root) {
			return folder
		}
	}
	return ""
}

// reachable reports whether a turn may work in path: inside the workspace, or in
// a folder that may be written anyway. In a workspace that policy does not let
// be written no sandbox of this thread lets anything be written, so that moving
// about in it gives nothing.
func (c *call) reachable(path string) bool {
	return c.p.reachable(&c.st, c.allowed(), c.workspace, path)
}

func (p *Policy) reachable(st *State, allowed []string, workspace, path string) bool {
	if workspace != "" && within(workspace, path) && (p.protectsOwn(path[len(workspace):]) || st.inPath(path)) || path != workspace && p.leadsToProtected(path) {
		return false // named itself, it would be writable
	}
	if path != workspace && workspace != "" && within(path, workspace) {
		return false // Codex would protect what governs in that folder, and not in the workspace
	}
	return workspace != "" && below(workspace, path) ||
		belowAny(allowed, path) && !st.exposes(path) && !st.holdsProgram(path) && !p.protectsOwn(inRoot(allowed, path))
}
