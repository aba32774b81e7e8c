package policy

import "codex-bridge/rpc"

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
		c.workspace, c.sent.Workspace = c.st.Start, c.st.Start
	case c.st.Thread != nil:
		// A turn may have moved the cwd since.
		c.workspace, c.sent.Within = c.st.Thread.Workspace, c.st.Thread.Workspace
	}
}

// turnCwd holds the cwd of a turn to the workspace: under workspace-write codex
// lets the cwd be written without naming it among the writable roots.
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
	case !c.entered(path):
		c.dropField("cwd", ruleRoots, path+" is "+c.barred(path)+"; the workspace is "+c.workspace)
	case path != text:
		c.setField("cwd", quote(path), ruleRoots, "the folder is fixed to the one that this path leads to now")
	}
}
