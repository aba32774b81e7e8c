package policy

import (
	"fmt"
	"path/filepath"
	"strings"

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
func (c *decider) allowed() []string {
	if !c.rootsExpanded {
		c.allowedRoots, c.rootsExpanded = c.p.allowed(c.st, c.workspace), true
	}
	return c.allowedRoots
}

func (p *Policy) allowed(st State, workspace string) []string {
	var out []string
	for _, r := range p.roots {
		switch r.base {
		case workspaceRoot:
			// A folder below the workspace is not resolved: the agent may have made a
			// link of it, and the link's target would then be allowed. Left as it is,
			// nothing canonical lies in a link.
			if isUsableWorkspace(st, workspace) {
				out = append(out, filepath.Join(workspace, r.rest))
			}
		default:
			if at, linked := r.resolve(st); at != "" && !linked {
				out = append(out, at)
			}
		}
	}
	for _, q := range p.joint {
		out = intersectFolders(out, q.allowed(st, workspace))
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
	if p.mode != config.Enforce || p.maxLevel == readOnly {
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
func isUsableWorkspace(st State, workspace string) bool { return st.unusableReason(workspace) == "" }

// unusable says why ${workspace} may not stand for this folder, or "". The root of
// the file system, the home folder and what lies above it hold keys and start-up
// files; a thread that was opened there by accident must not own them. And a thread
// that may write codex's own folder, or the policy, can give itself anything.
//
// Measured: in a thread with the cwd CODEX_HOME and workspace-write a command wrote
// config.toml, rules/ and auth.json, and nobody was asked.
func (st State) unusableReason(workspace string) string {
	if workspace == "" {
		return "is not known"
	}
	// Without regard to case, so that a doubt forbids.
	folder := strings.ToLower(workspace)
	if filepath.Dir(workspace) == workspace || st.Home != "" && Within(folder, strings.ToLower(st.Home)) {
		return "is, or holds, the home folder or the whole file system; open a folder inside"
	}
	project := workspace
	if home := strings.ToLower(st.CodexHome); home != "" && overlaps(folder, home) {
		if !st.isWorktree(workspace) {
			return "is, holds or lies in codex's own folder " + st.CodexHome + "; open another folder"
		}
		project = workspace[len(st.CodexHome):] // which is itself called .codex
	}
	if isGoverning(project) {
		return "lies in " + governingReason + "; open the project's own folder"
	}
	for _, kept := range st.Sensitive {
		if overlaps(folder, strings.ToLower(kept)) {
			return "is, holds or lies in " + kept + ", on which the policy rests; open another folder"
		}
	}
	if st.isInPath(workspace) {
		return "lies in a folder of PATH, from which codex runs programs; remove that from PATH, or open another folder"
	}
	for _, link := range st.Links {
		if Within(folder, strings.ToLower(link)) {
			return "holds the link " + link + ", through which a program is found that runs outside of the sandbox, or $TMPDIR; name what it leads to"
		}
	}
	return ""
}

func (e errPath) Error() string { return string(e) }

// reachable reports whether a turn may work in path: inside the workspace, or in
// a folder that may be written anyway. In a workspace that policy does not let
// be written no sandbox of this thread lets anything be written, so that moving
// about in it gives nothing.
func (c *decider) reachable(path string) bool {
	return c.p.reachable(&c.st, c.allowed(), c.workspace, path)
}

func (p *Policy) reachable(st *State, allowed []string, workspace, path string) bool {
	if workspace != "" && Within(workspace, path) && (p.protectsBeyondCodex(path[len(workspace):]) || st.isInPath(path)) || path != workspace && p.leadsToProtected(path) {
		return false // named itself, it would be writable
	}
	if path != workspace && workspace != "" && Within(path, workspace) {
		return false // Codex would protect what governs in that folder, and not in the workspace
	}
	return workspace != "" && WritableBelow(workspace, path) ||
		writableBelowAny(allowed, path) && !st.overlapsSensitive(path) && !st.holdsProgram(path) && !p.protectsBeyondCodex(relativeToRoot(allowed, path))
}
