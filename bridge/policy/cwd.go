package policy

import (
	"cmp"

	"codex-bridge.example/rpc"
)

// decideWorkspace reads the cwd of a request that opens a thread; it becomes the workspace. The
// bridge sends the canonical path. Codex resolves the path for each command, and a command could
// replace a link in it.
func decideWorkspace(c folders) (folders, openedIn) {
	in := c.findWorkspace()
	return c, in
}

// openedIn says in which folder a request opens its thread. The zero value says that Codex restores it.
type openedIn struct {
	sent   string // SentSettings.Workspace
	within string // SentSettings.CwdWithin
}

// findWorkspace sets the workspace.
func (c *folders) findWorkspace() (in openedIn) {
	v := c.params.Get("cwd")
	text, ok := v.Text()
	if !ok {
		if !IsUnset(v) {
			c.refuse(rpc.CodeInvalidParams, "params.cwd", RuleProtocol, "cwd is "+v.Kind().String(), "send a string")
			return in
		}
		return c.decideOmittedWorkspace()
	}
	path, err := c.st.ResolveCwd(text)
	if err != nil {
		c.refuse(rpc.CodeRefused, "params.cwd", RuleRoots,
			"the workspace "+FormatValue(v)+" can't be resolved: "+err.Error(), "send the absolute path of a readable folder")
		return in
	}
	if path != text {
		c.setField("cwd", JSONString(path), RuleRoots, "the bridge sends the canonical path of the workspace")
	}
	c.workspace = path
	if c.keepsCwd(path) {
		c.workspace = c.st.Thread.Workspace
		return openedIn{within: c.workspace}
	}
	return openedIn{sent: path}
}

// keepsCwd reports whether a resume names the folder to which a turn has moved a thread that Codex has in memory. Such
// a request does what one without a cwd does: the thread keeps its workspace and profile.
//
// Measured with Codex 0.169: it ignores the cwd of a resume of such a thread.
func (c *request) keepsCwd(path string) bool {
	t := c.st.Thread
	return c.m.Method == "thread/resume" && t != nil && t.Workspace != "" && path == t.Cwd && path != t.Workspace && c.st.LoadedProfile != nil && !c.st.Unsubscribed
}

func (c *folders) decideOmittedWorkspace() (in openedIn) {
	switch {
	case c.spec.startsThread:
		// Codex opens such a thread in its own start folder.
		c.workspace = c.st.StartFolder
		in.sent = c.workspace
	case c.st.Thread != nil && c.m.Method == "thread/fork":
		c.workspace = c.st.Thread.Workspace
		c.setForkCwd()
		in.sent = c.workspace
	case c.st.Thread != nil:
		// A turn may have changed the thread's cwd.
		c.workspace = c.st.Thread.Workspace
		in.within = c.workspace
	case c.st.OpenedIn != "":
		// Measured with Codex 0.169: the thread works in its last turn's cwd, with that turn's
		// roots. The bridge does not know the thread, and would take that folder for its workspace.
		c.refuseMoved(c.st.OpenedIn, c.st.MovedTo)
	}
	return in
}

// setForkCwd sets the cwd of a fork without one to the workspace of its thread.
//
// Measured with Codex 0.169: such a fork works in the last turn's cwd, and has that folder as its
// only root. A command of the thread could replace an inner folder by a link.
func (c *folders) setForkCwd() {
	if cwd := c.st.Thread.Cwd; cwd != "" && cwd != c.workspace {
		c.refuseMoved(c.workspace, cwd)
		return
	}
	c.setField("cwd", JSONString(c.workspace), RuleRoots, "a fork works in the workspace of its thread, not in the last turn's cwd")
}

// refuseMoved refuses to open a thread without a cwd that a turn has moved out of the folder where it was
// opened. Codex alone would let its commands write only the folder of the turn, in later turns, too.
func (c *request) refuseMoved(opened, moved string) {
	c.refuse(rpc.CodeRefused, "params.cwd", RuleRoots, "the thread was opened in "+opened+", but its last turn worked in "+cmp.Or(moved, "another folder")+", and only that would be writable", "send one of both as cwd")
}

// decideTurnCwd keeps the cwd of a turn inside the workspace and the writable roots. It refuses other
// folders: in the workspace, commands could write what the client did not name.
//
// Measured with Codex 0.169: a cwd without roots becomes the only writable folder of workspace-write,
// also in later turns. In the workspace, a background command exchanged a folder above it for one with
// a link, between the bridge's check and Codex's own. The target was writable. So such a turn may
// write nothing; see narrowedReason. With the workspace as the only root of the turn, the cwd is not
// writable by itself; a sandboxPolicy makes it writable again.
func decideTurnCwd(c folders) folders {
	v := c.params.Get("cwd")
	if IsUnset(v) {
		c.keepTurnCwd()
		return c
	}
	text, ok := v.Text()
	if !ok {
		c.refuse(rpc.CodeInvalidParams, "params.cwd", RuleProtocol, "cwd is "+v.Kind().String(), "send a string")
		return c
	}
	path, err := c.st.ResolveCwd(text)
	switch {
	case err != nil:
		c.refuse(rpc.CodeRefused, "params.cwd", RuleRoots, "the folder "+FormatValue(v)+" can't be resolved: "+err.Error(), "send the absolute path of a readable folder")
		return c
	case !c.canWorkIn(path) || c.isReplaceable(path) && !c.canNarrow(path):
		c.refuse(rpc.CodeRefused, "params.cwd", RuleRoots, path+" is "+c.barredReason(path)+"; the workspace is "+c.workspace, "send the workspace, or open a thread there")
		return c
	case path != text:
		c.setField("cwd", JSONString(path), RuleRoots, "the bridge sends the canonical path of the folder")
	}
	switch {
	case !c.isReplaceable(path):
		if IsUnset(c.params.Get("runtimeWorkspaceRoots")) && IsUnset(c.params.Get("environments")) {
			c.keepOuterRoots("cwd", []string{path})
		}
		if path != c.workspace {
			c.newlyWritable = append(c.newlyWritable, path)
		}
	case !c.listsWorkspace() || c.requestsWorkspaceWrite() && !c.st.Thread.Profile.Defined:
		c.narrowed = narrowedReason(path, c.workspace)
	}
	return c
}

// keepTurnCwd does the same for a turn or settings that keep the cwd of an earlier turn, and would make
// it writable now.
func (c *folders) keepTurnCwd() {
	t := c.st.Thread
	if t.Sandbox == WorkspaceWrite.String() || !IsUnset(c.params.Get("environments")) || c.listsWorkspace() {
		return
	}
	if Within(c.workspace, t.Cwd) && c.isReplaceable(t.Cwd) {
		c.narrowed = narrowedReason(t.Cwd, c.workspace)
	}
}

// narrowedReason says why a turn with an inner folder of the workspace as its cwd writes nothing.
func narrowedReason(folder, workspace string) string {
	return "only " + folder + " would be writable, but a command could replace it by a link; to write " + workspace +
		", send it as cwd beside a sandbox, or beside this cwd as runtimeWorkspaceRoots; to write only " + folder + ", open a thread there"
}

// listsWorkspace reports whether the request names the workspace as one of its roots.
func (c *folders) listsWorkspace() bool {
	for e := range c.params.Get("runtimeWorkspaceRoots").Elements() {
		if at, err := c.st.Canonical(TextOf(e)); err == nil && at == c.workspace {
			return true
		}
	}
	return false
}
