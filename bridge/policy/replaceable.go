package policy

import (
	"codex-bridge/rpc"
	"slices"
)

// swappable reports whether commands may replace a folder, or one above it, by a link. Of a new thread no
// command runs yet, but those of other threads do.
func (c *decider) isReplaceable(path string) bool {
	switch {
	case c.p.maxLevel == readOnly:
		return false
	case c.spec.startsThread:
		return path != c.workspace && findNested(slices.Concat(c.st.Writable, c.newlyWritable), path) != ""
	}
	return c.overlappingWritable(path) != ""
}

// swappableIn returns a folder with path in it that commands may write: the workspace, one of the thread's
// roots, a temporary folder, or one that was writable before or is by this message; "" if there is none. Of
// the last kinds it also returns a folder inside path, unless path itself was writable for the thread.
func (c *decider) overlappingWritable(path string) string {
	var folders []string
	if c.workspace != "" && writableBelowAny(c.allowed(), c.workspace) {
		folders = append(folders, c.workspace)
	}
	if t := c.st.Thread; t != nil {
		folders = slices.Concat(folders, t.Roots, t.Profile.Roots)
	}
	for _, t := range c.st.Temps {
		folders = append(folders, t.Path)
	}
	for _, folder := range folders {
		if path != folder && path != c.workspace && WritableBelow(folder, path) {
			return folder
		}
	}
	if path == c.workspace {
		return ""
	}
	again := c.st.Thread != nil && slices.Contains(c.st.Thread.Writable, path)
	for _, folder := range slices.Concat(c.st.Writable, c.newlyWritable) {
		if folder != path && (WritableBelow(folder, path) || WritableBelow(path, folder) && !again) {
			return folder
		}
	}
	return ""
}

// nested returns the first of the folders that has path in it, or that is in path; "" if there is none.
func findNested(folders []string, path string) string {
	for _, folder := range folders {
		if folder != path && (WritableBelow(folder, path) || WritableBelow(path, folder)) {
			return folder
		}
	}
	return ""
}

// bindsCwd reports whether a turn can work in a folder of the workspace without making the folder
// writable by itself: the method takes roots, and no sandboxPolicy overrides them.
func (c *decider) canLimitRoot(path string) bool {
	t := c.st.Thread
	return c.m.Method == "turn/start" && c.isReplaceable(path) && Within(c.workspace, path) &&
		(!c.requestsWorkspaceWrite() || t != nil && t.Profile.Defined)
}

// bindCwd makes the workspace the only root of a turn.
func (c *decider) limitRootToWorkspace(v rpc.Value) {
	const field = "runtimeWorkspaceRoots"
	to := jsonArray([]string{c.workspace})
	c.recordChange(field, v, to, ruleRoots, "a command could replace the turn's cwd by a link, so that the workspace is the root, and not the cwd")
	c.ensurePatch().Set(c.params, field, to)
}

// enclosing returns a folder above a writable root that commands of this turn or of another may write:
// the workspace, another of policy.writable_roots, or a temporary folder. It returns "" if there is
// none. A command could replace the root by a link, and Codex would let the next one write where the
// link leads.
//
// Measured with Codex 0.169, for writableRoots of a sandboxPolicy: with ["WORKSPACE/a/sub"] a command
// renamed a and made a/sub a link. Codex follows it at the next turn.
func (c *decider) enclosingWritable(root string) string {
	folders := append(slices.Clone(c.allowed()), c.workspace)
	for _, t := range c.st.Temps {
		folders = append(folders, t.Path)
	}
	for _, folder := range folders {
		if folder != "" && folder != root && WritableBelow(folder, root) {
			return folder
		}
	}
	return ""
}

// innerRoot returns a root of the thread, or its cwd, that lies inside the workspace; "" if there is none. Codex keeps
// roots and cwd from earlier turns. With a workspace-write sandboxPolicy both folders would be writable, and a
// command could replace the inner one by a link.
func (c *decider) innerRoot() string {
	t := c.st.Thread
	if t == nil || t.Profile.Defined {
		return ""
	}
	roots := t.Roots
	if isUnset(c.params.Get("cwd")) && t.Cwd != "" {
		roots = append(slices.Clip(roots), t.Cwd) // the turn stays there, and that folder is writable by itself
	}
	for _, root := range roots {
		if folder := c.overlappingWritable(root); folder != "" && folder == t.Workspace {
			return root
		}
	}
	return ""
}

// swappable returns a folder that commands can write, could write before, or could with this answer, and
// that the path is in or holds; "" if there is none.
//
// Measured with Codex 0.169: with a grant of WORKSPACE/a/sub, a command replaced a and made a/sub a link,
// and the next command of the turn could write where it led.
func (g *grantFilter) overlappingWritable(path string) string {
	st := g.a.st
	folders := slices.Concat(g.written, st.Writable)
	if t := st.Thread; t != nil && t.Sandbox == workspaceWrite.String() {
		folders = append(folders, t.WritableFolders()...)
		for _, temp := range st.Temps {
			folders = append(folders, temp.Path)
		}
	}
	return findNested(folders, path)
}
