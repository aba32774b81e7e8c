package policy

import "codex-bridge.example/rpc"

// refuseStateFolder refuses the request if Codex's configuration keeps Codex's state in a folder
// that the bridge does not protect, and reports whether it did. The bridge looks for the folder
// when it starts; a configuration that it does not know names another one.
func (c *request) refuseStateFolder() bool {
	folder := c.st.Defaults.StateFolder
	if folder == "" || !c.p.letsWrite() {
		return false
	}
	at, err := c.st.Canonical(folder)
	if err == nil && (c.st.isSensitive(at) || c.st.CodexHome != "" && Within(c.st.CodexHome, at)) {
		return false
	}
	c.refuse(rpc.CodeRefused, "params", RuleProtected, "codex's configuration keeps its state in "+folder+" (sqlite_home), which the bridge does not protect",
		"set sqlite_home in the config.toml of CODEX_HOME, or start the bridge with CODEX_SQLITE_HOME="+folder)
	return true
}

// isSensitive reports whether a canonical path is, or is in, a path on which the policy rests.
func (st State) isSensitive(path string) bool {
	for _, one := range st.Sensitive {
		if Within(one, path) {
			return true
		}
	}
	return false
}
