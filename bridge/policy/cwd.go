package policy

import (
	"codex-bridge.example/rpc"
)

const ruleRoots = "policy.writable_roots"

// decideWorkspace reads the cwd of a request that opens a thread; it becomes the workspace. The
// bridge sends the canonical path. Codex resolves the path for each command, and a command could
// replace a link in it.
func (c *decider) decideWorkspace([]string) {
	v := c.params.Get("cwd")
	text, ok := v.Text()
	if !ok {
		if !isUnset(v) {
			c.dropField("cwd", ruleRoots, "cwd must be a string")
		}
		c.decideOmittedWorkspace()
		return
	}
	path, err := c.st.ResolveCwd(text)
	if err != nil {
		c.refuse(rpc.CodeRefused, "params.cwd", ruleRoots,
			"the workspace "+formatValue(v)+" can't be resolved: "+err.Error(), "send the absolute path of a readable folder")
		return
	}
	if path != text {
		c.setField("cwd", jsonString(path), ruleRoots, "the bridge sends the canonical path of the workspace")
	}
	c.workspace, c.sent.Workspace = path, path
}

func (c *decider) decideOmittedWorkspace() {
	switch {
	case c.spec.startsThread:
		// Codex opens such a thread in its own start folder.
		c.workspace, c.sent.Workspace = c.st.StartFolder, c.st.StartFolder
	case c.st.Thread != nil && c.m.Method == "thread/fork":
		c.setForkCwd()
	case c.st.Thread != nil:
		// A turn may have changed the thread's cwd.
		c.workspace, c.sent.CwdWithin = c.st.Thread.Workspace, c.st.Thread.Workspace
	case c.st.OpenedIn != "":
		// Measured with Codex 0.169: the thread works in its last turn's cwd, with that turn's
		// roots. The bridge does not know the thread, and would take that folder for its workspace.
		c.workspace, c.sent.Workspace = c.st.OpenedIn, c.st.OpenedIn
		c.setField("cwd", jsonString(c.workspace), ruleRoots, "a thread from a file works in the folder where it was opened, not in its last turn's cwd")
	}
}

// setForkCwd sets the cwd of a fork without one to the workspace of its thread.
//
// Measured with Codex 0.169: such a fork works in the last turn's cwd, and has that folder as its
// only root. A command of the thread could replace an inner folder by a link.
func (c *decider) setForkCwd() {
	c.workspace, c.sent.Workspace = c.st.Thread.Workspace, c.st.Thread.Workspace
	c.setField("cwd", jsonString(c.workspace), ruleRoots, "a fork works in the workspace of its thread, not in the last turn's cwd")
}

// decideTurnCwd keeps the cwd of a turn inside the workspace and the writable roots. Under
// workspace-write Codex makes the cwd writable without listing it.
//
// Measured with Codex 0.169: for a cwd in the workspace, a background command exchanged a folder
// above it for one with a link, between the bridge's check and Codex's own. The target was
// writable. With the workspace as the only root of the turn, the cwd is not writable by itself; a
// sandboxPolicy makes it writable again.
func (c *decider) decideTurnCwd([]string) {
	v := c.params.Get("cwd")
	if isUnset(v) {
		return
	}
	text, ok := v.Text()
	if !ok {
		c.dropField("cwd", ruleRoots, "cwd must be a string")
		return
	}
	path, err := c.st.ResolveCwd(text)
	switch {
	case err != nil:
		c.dropField("cwd", ruleRoots, formatValue(v)+" can't be resolved: "+err.Error())
	case !c.canWorkIn(path) || c.isReplaceable(path) && !c.canLimitRoot(path):
		c.dropField("cwd", ruleRoots, path+" is "+c.barredReason(path)+"; the workspace is "+c.workspace)
		return
	case path != text:
		c.setField("cwd", jsonString(path), ruleRoots, "the bridge sends the canonical path of the folder")
	}
	c.limitsRoot = err == nil && c.canLimitRoot(path)
	if err == nil && !c.limitsRoot && path != c.workspace {
		c.newlyWritable = append(c.newlyWritable, path)
	}
}
