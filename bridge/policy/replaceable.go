package policy

import (
	"slices"
)

// isReplaceable reports whether commands could replace the folder at path, or one above it, by a
// link. A new thread has no commands yet, but those of other threads count.
func (c *folders) isReplaceable(path string) bool {
	switch {
	case c.p.maxLevel == ReadOnly:
		return false
	case c.spec.startsThread:
		return path != c.workspace && FindNested(slices.Concat(c.st.Writable, c.newlyWritable), path) != ""
	}
	return c.overlappingWritable(path) != ""
}

// overlappingWritable returns a folder around path that commands may write, and in which they could
// replace path by a link; "" if there is none. Such folders are the workspace, the thread's roots,
// temporary folders, and folders that were writable before or are by this message. For the last two
// it also returns a folder inside path, unless path itself was writable for the thread.
func (c *folders) overlappingWritable(path string) string {
	var folders []string
	if c.workspace != "" && WritableBelowAny(c.allowed(), c.workspace) {
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

// FindNested returns the first folder that contains path or is in it; "" if there is none.
func FindNested(folders []string, path string) string {
	for _, folder := range folders {
		if folder != path && (WritableBelow(folder, path) || WritableBelow(path, folder)) {
			return folder
		}
	}
	return ""
}

// canNarrow reports whether a turn may work in a folder inside the workspace that is not a root itself.
// A client that changes settings waits for exactly those.
func (c *folders) canNarrow(path string) bool {
	return c.m.Method == "turn/start" && Within(c.workspace, path) &&
		(FindNested(c.st.Writable, path) == "" || c.p.MayStayInside(&c.st, c.allowed(), c.workspace, path))
}

// MayStayInside reports whether a folder inside the workspace may be a root of a thread with a read-only
// sandbox, though commands of other threads could replace it by a link. A later turn that would raise the
// sandbox finds the root, see innerRoot. With the bridge's profile it does not: then commands of the thread
// itself must have been able to write the workspace before.
func (p *Policy) MayStayInside(st *State, allowed []string, workspace, path string) bool {
	t := st.Thread
	return t != nil && path != workspace && WritableBelow(workspace, path) && WritableBelowAny(allowed, workspace) &&
		(!t.Profile.Defined || slices.Contains(t.Writable, workspace))
}

// enclosingWritable returns a folder above a writable root that commands may write: the workspace,
// another one of policy.writable_roots, or a temporary folder; "" if there is none. A command could
// replace the root by a link, and Codex would make the link's target writable.
//
// Measured with Codex 0.169 for writableRoots of a sandboxPolicy: with ["WORKSPACE/a/sub"] a
// command renamed a and made a/sub a link. Codex follows it at the next turn.
func (c *folders) enclosingWritable(root string) string {
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

// innerRoot returns a root of the thread, or its cwd, inside the workspace; "" if there is none.
// Codex keeps roots and cwd of earlier turns. A workspace-write sandboxPolicy would make both
// folders writable, and a command could replace the inner one by a link.
func (c *folders) innerRoot() string {
	t := c.st.Thread
	if t == nil || t.Profile.Defined {
		return ""
	}
	roots := t.Roots
	if IsUnset(c.params.Get("cwd")) && t.Cwd != "" {
		roots = append(slices.Clip(roots), t.Cwd) // the turn stays there, and the cwd is writable
	}
	for _, root := range roots {
		if folder := c.overlappingWritable(root); folder != "" && folder == t.Workspace {
			return root
		}
	}
	return ""
}
