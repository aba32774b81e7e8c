package policy

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// root is one entry of policy.writable_roots.
type root struct {
	base rootBase
	rest string // below the base; for a literal root the whole path
	text string // as configured
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

// Allowed returns the folders of policy.writable_roots for this thread, canonical.
func (c *folders) allowed() []string {
	if !c.rootsExpanded {
		c.allowedRoots, c.rootsExpanded = c.p.Allowed(c.st, c.workspace), true
	}
	return c.allowedRoots
}

// Allowed returns the canonical folders of policy.writable_roots for a thread in a workspace.
func (p *Policy) Allowed(st State, workspace string) []string {
	var out []string
	for _, r := range p.roots {
		switch r.base {
		case workspaceRoot:
			// A folder below the workspace is not resolved. A command may have made it a link, and
			// resolving would allow the target. No canonical path is below a link.
			if IsUsableWorkspace(st, workspace) {
				out = append(out, joinRest(workspace, r.rest))
			}
		default:
			if at, linked := r.resolve(st); at != "" && !linked {
				out = append(out, at)
			}
		}
	}
	for _, q := range p.joint {
		out = intersectFolders(out, q.Allowed(st, workspace))
	}
	return out
}

// joinRest is filepath.Join for a canonical folder. It allocates only if rest is not empty.
func joinRest(folder, rest string) string {
	if rest == "" {
		return folder
	}
	return filepath.Join(folder, rest)
}

// resolve returns the target of a root outside the workspace, or "" if it can't be resolved, and
// whether a link is in its path. Such a root allows nothing, because a command may have made the
// link.
func (r root) resolve(st State) (at string, linked bool) {
	path := r.rest
	if r.base == homeRoot {
		if st.Home == "" {
			return "", false
		}
		path = filepath.Join(st.Home, r.rest)
	}
	at, err := st.Canonical(path)
	if err != nil {
		return "", false
	}
	return at, !strings.EqualFold(at, path)
}

// LinkedRootError reports an entry of policy.writable_roots that allows nothing because its path
// contains a link.
type LinkedRootError struct{ Root, Target string }

func (e *LinkedRootError) Error() string { return e.Problem() + "; " + e.Hint() }

// Problem names the root and its target.
func (e *LinkedRootError) Problem() string {
	return fmt.Sprintf("policy.writable_roots: %s leads to %s by a link, which a command could replace", e.Root, e.Target)
}

// Hint returns how to fix it.
func (e *LinkedRootError) Hint() string { return "name " + e.Target + " instead" }

// LinkedRoots returns an error for each such root. It returns nil unless the policy is enforced and
// allows writing.
func (p *Policy) LinkedRoots(world func() State) []*LinkedRootError {
	if p.mode != config.Enforce || p.maxLevel == ReadOnly {
		return nil
	}
	var out []*LinkedRootError
	world = sync.OnceValue(world)
	for _, r := range p.roots {
		if r.base == workspaceRoot {
			continue
		}
		if at, linked := r.resolve(world()); linked {
			out = append(out, &LinkedRootError{r.text, at})
		}
	}
	return out
}

// IsUsableWorkspace reports whether ${workspace} may stand for the folder.
func IsUsableWorkspace(st State, workspace string) bool { return st.unusableReason(workspace) == "" }

// unusableReason returns why ${workspace} may not stand for the folder; "" if it may. The file
// system's root, the home folder and folders above it contain keys and start-up files, and a thread
// may open there by accident. A thread that can write CODEX_HOME or the policy can give itself any
// right.
//
// Measured with Codex 0.169: in a workspace-write thread with the cwd CODEX_HOME, a command wrote
// config.toml, rules/ and auth.json without a question.
func (st State) unusableReason(workspace string) string {
	if workspace == "" {
		return "is not known"
	}
	// Ignoring case is the stricter choice.
	folder := rules.FoldCase(workspace)
	if filepath.Dir(workspace) == workspace || st.Home != "" && Within(folder, rules.FoldCase(st.Home)) {
		return "is, or contains, the home folder or the whole file system; open a folder inside"
	}
	project := workspace
	if home := rules.FoldCase(st.CodexHome); home != "" && Overlaps(folder, home) {
		if !st.isWorktree(workspace) {
			return "overlaps Codex's folder " + st.CodexHome + "; open another folder"
		}
		project = workspace[len(st.CodexHome):] // CODEX_HOME itself is named .codex
	}
	if IsGoverning(project) {
		return "is in " + governingReason + "; open the project's own folder"
	}
	for _, kept := range st.Sensitive {
		if Overlaps(folder, rules.FoldCase(kept)) {
			return "overlaps " + kept + ", which commands must not write; open another folder"
		}
	}
	if st.IsInPath(workspace) {
		return "is in a folder of PATH, from which Codex runs programs; remove that from PATH, or open another folder"
	}
	for _, link := range st.Links {
		if Within(folder, rules.FoldCase(link)) {
			return "contains the link " + link + ", which leads to a program outside the sandbox or to $TMPDIR; use its target instead"
		}
	}
	return ""
}

// Reachable reports whether a turn may work in path: in the workspace or a writable root. If the
// policy does not let the workspace be written, a cwd in it gives no further rights.
func (c *folders) reachable(path string) bool {
	return c.p.Reachable(&c.st, c.allowed(), c.workspace, path)
}

// Reachable reports whether a turn may work in path. allowed is the result of Allowed.
func (p *Policy) Reachable(st *State, allowed []string, workspace, path string) bool {
	if workspace != "" && Within(workspace, path) && (p.protectsBeyondCodex(path[len(workspace):]) || st.IsInPath(path)) || path != workspace && p.LeadsToProtected(path) {
		return false // a root is writable as a whole
	}
	if path != workspace && workspace != "" && Within(path, workspace) {
		return false // Codex would protect that folder's .git, and not the workspace's
	}
	return workspace != "" && WritableBelow(workspace, path) ||
		WritableBelowAny(allowed, path) && !st.OverlapsSensitive(path) && !st.holdsProgram(path) && !p.protectsBeyondCodex(relativeToRoot(allowed, path))
}
