package policy

import (
	"slices"

	"codex-bridge/rpc"
)

const ruleRoots = "policy.writable_roots"

// workspaceCwd reads the cwd of a thread request: it becomes the workspace.
// It is put into its canonical spelling, so that a link in it can't be turned
// elsewhere once it was judged: codex resolves it at every command.
func (c *call) workspaceCwd([]string) {
	v := c.params.Get("cwd")
	text, ok := v.Text()
	if !ok {
		if !nothing(v) {
			c.dropField("cwd", ruleRoots, "a cwd is a string")
		}
		c.workspaceLeftOut()
		return
	}
	path, err := c.st.resolve(text)
	if err != nil {
		c.refuse(rpc.CodeRefused, "params.cwd", ruleRoots,
			"the workspace "+show(v)+" can't be judged: "+err.Error(), "send the absolute path of a folder that can be read")
		return
	}
	if path != text {
		c.setField("cwd", quote(path), ruleRoots, "the workspace is fixed to the folder that this path leads to now")
	}
	c.workspace, c.sent.Workspace = path, path
}

func (c *call) workspaceLeftOut() {
	switch {
	case c.row.starts:
		// Codex starts the thread where it was started itself.
		c.workspace, c.sent.Workspace = c.st.StartFolder, c.st.StartFolder
	case c.st.Thread != nil && c.m.Method == "thread/fork":
		c.forkCwd()
	case c.st.Thread != nil:
		// A turn may have moved the cwd since.
		c.workspace, c.sent.CwdWithin = c.st.Thread.Workspace, c.st.Thread.Workspace
	case c.st.OpenedIn != "":
		// Measured with Codex 0.169: it works where a turn has moved it, with the roots of that turn. The bridge
		// does not know the thread, and would take that folder for its workspace.
		c.workspace, c.sent.Workspace = c.st.OpenedIn, c.st.OpenedIn
		c.setField("cwd", quote(c.workspace), ruleRoots, "a thread that comes back from its file works where it was opened, and not where a turn has moved it")
	}
}

// forkCwd has a fork without a cwd work in the workspace of its thread.
//
// Measured with Codex 0.169: it works where a turn has moved the thread, and that folder is its only root.
// A command of the thread could replace an inner folder by a link.
func (c *call) forkCwd() {
	c.workspace, c.sent.Workspace = c.st.Thread.Workspace, c.st.Thread.Workspace
	c.setField("cwd", quote(c.workspace), ruleRoots, "a fork works in the workspace of its thread, and not where a turn has moved that")
}

// turnCwd holds the cwd of a turn to the workspace: under workspace-write codex
// lets the cwd be written without naming it among the writable roots.
//
// Measured with Codex 0.169: for a cwd in the workspace, a background command exchanged a folder above
// it for one with a link, between the bridge's check and Codex's own, and the target was writable. With
// the workspace as the only root of the turn, the cwd is not writable by itself. A sandboxPolicy makes
// it writable all the same.
func (c *call) turnCwd([]string) {
	v := c.params.Get("cwd")
	if nothing(v) {
		return
	}
	text, ok := v.Text()
	if !ok {
		c.dropField("cwd", ruleRoots, "a cwd is a string")
		return
	}
	path, err := c.st.resolve(text)
	switch {
	case err != nil:
		c.dropField("cwd", ruleRoots, show(v)+" can't be judged: "+err.Error())
	case !c.entered(path) || c.swappable(path) && !c.bindsCwd(path):
		c.dropField("cwd", ruleRoots, path+" is "+c.barred(path)+"; the workspace is "+c.workspace)
		return
	case path != text:
		c.setField("cwd", quote(path), ruleRoots, "the folder is fixed to the one that this path leads to now")
	}
	c.boundCwd = err == nil && c.bindsCwd(path)
	if err == nil && !c.boundCwd && path != c.workspace {
		c.newlyWritable = append(c.newlyWritable, path)
	}
}

// bindsCwd reports whether a turn can work in a folder of the workspace without making the folder
// writable by itself: the method takes roots, and no sandboxPolicy overrides them.
func (c *call) bindsCwd(path string) bool {
	t := c.st.Thread
	return c.m.Method == "turn/start" && c.swappable(path) && within(c.workspace, path) &&
		(!c.namesWorkspaceWrite() || t != nil && t.Profile.Defined)
}

// swappable reports whether commands may replace a folder, or one above it, by a link. Of a new thread no
// command runs yet, but those of other threads do.
func (c *call) swappable(path string) bool {
	switch {
	case c.p.limit == readOnly:
		return false
	case c.row.starts:
		return path != c.workspace && nested(slices.Concat(c.st.Writable, c.newlyWritable), path) != ""
	}
	return c.swappableIn(path) != ""
}

// nested returns the first of the folders that has path in it, or that is in path; "" if there is none.
func nested(folders []string, path string) string {
	for _, folder := range folders {
		if folder != path && (below(folder, path) || below(path, folder)) {
			return folder
		}
	}
	return ""
}

// swappableIn returns a folder with path in it that commands may write: the workspace, one of the thread's
// roots, a temporary folder, or one that was writable before or is by this message; "" if there is none. Of
// the last kinds it also returns a folder inside path, unless path itself was writable for the thread.
func (c *call) swappableIn(path string) string {
	var folders []string
	if c.workspace != "" && belowAny(c.allowed(), c.workspace) {
		folders = append(folders, c.workspace)
	}
	if t := c.st.Thread; t != nil {
		folders = slices.Concat(folders, t.Roots, t.Profile.Roots)
	}
	for _, t := range c.st.Temps {
		folders = append(folders, t.Path)
	}
	for _, folder := range folders {
		if path != folder && path != c.workspace && below(folder, path) {
			return folder
		}
	}
	if path == c.workspace {
		return ""
	}
	again := c.st.Thread != nil && slices.Contains(c.st.Thread.Writable, path)
	for _, folder := range slices.Concat(c.st.Writable, c.newlyWritable) {
		if folder != path && (below(folder, path) || below(path, folder) && !again) {
			return folder
		}
	}
	return ""
}
