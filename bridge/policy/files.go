package policy

import (
	"path/filepath"

	"codex-bridge.example/rpc"
)

// readableFolders returns the folders that a client may read without a thread: workspaces of
// verified threads, Codex's start folder and the writable roots.
func (c *request) readableFolders() []string {
	var out []string
	for _, folder := range c.st.Workspaces {
		if IsUsableWorkspace(c.st, folder) {
			out = append(out, folder)
		}
	}
	if IsUsableWorkspace(c.st, c.st.StartFolder) {
		out = append(out, c.st.StartFolder)
	}
	return append(out, c.p.Allowed(c.st, "")...)
}

const outsideRoots = "outside this conversation's workspaces and policy.writable_roots"

// decideReadPath checks the path of a file that a client reads, which no sandbox limits. The bridge
// sends the canonical path, so that a link in it has no effect.
func (c *request) decideReadPath() {
	v := c.params.Get("path")
	text, ok := v.Text()
	if !ok {
		c.refuse(rpc.CodeInvalidParams, "params.path", RuleProtocol, "path is "+v.Kind().String(), "send an absolute path")
		return
	}
	path, err := c.st.Canonical(text)
	switch {
	case err != nil:
		c.refuse(rpc.CodeRefused, "params.path", RuleRoots, FormatValue(v)+" can't be resolved: "+err.Error(), "send the absolute path of a readable file or folder")
	case !WithinAny(c.readableFolders(), path):
		c.refuse(rpc.CodeRefused, "params.path", RuleRoots, path+" is "+outsideRoots, "open a thread in its folder first")
	case path != text:
		c.setField("path", JSONString(path), RuleRoots, "the bridge sends the canonical path")
	}
}

// decideSearchRoots checks the folders of a file search or of extra skills.
func decideSearchRoots(c folders, fields []string) {
	field := fields[0]
	v, ok := c.requireArray(field, "folders")
	if !ok {
		return
	}
	readable := c.readableFolders()
	f := c.filterPaths(v, func(path string) bool { return WithinAny(readable, path) })
	switch {
	case !f.changed:
	case len(f.kept) == 0 && f.refused:
		c.refuse(rpc.CodeRefused, "params."+field, RuleRoots, f.reason(), "open a thread in the folder first")
	default:
		c.setField(field, jsonArray(f.kept), RuleRoots, f.reason())
	}
}

// canReadFolder reports whether a client may have Codex read the project configuration, skills,
// hooks or plugins of a folder. A project configuration that is a link must lead to a readable
// folder.
func (c *request) canReadFolder(readable []string, folder string) bool {
	if !WithinAny(readable, folder) {
		return false
	}
	for at := folder; ; at = filepath.Dir(at) {
		file := filepath.Join(at, ".codex", "config.toml")
		if leads, err := c.st.Canonical(file); err != nil || leads != file && !WithinAny(readable, leads) {
			return false
		}
		if filepath.Dir(at) == at {
			return true
		}
	}
}

// decideReadCwd checks the folder whose configuration a client reads. Measured with Codex 0.169:
// config/read returns any project's configuration, trusted or not, with the keys of its servers;
// without a cwd it returns no project's. Its TUI reads that of ".".
func (c *request) decideReadCwd() {
	v := c.params.Get("cwd")
	if IsUnset(v) {
		return
	}
	text, ok := v.Text()
	path, err := c.st.ResolveCwd(text)
	switch {
	case !ok || err != nil:
		c.dropField("cwd", RuleRoots, FormatValue(v)+" can't be resolved")
	case !c.canReadFolder(c.readableFolders(), path):
		c.dropField("cwd", RuleRoots, path+" is "+outsideRoots+", or its configuration is")
	case !v.Is(path):
		c.setField("cwd", JSONString(path), RuleRoots, "the bridge sends the canonical path")
	}
}

// decideReadCwds is decideReadCwd for a list of folders.
func decideReadCwds(c folders, fields []string) {
	field := fields[0]
	v := c.params.Get(field)
	if IsUnset(v) {
		return
	}
	readable := c.readableFolders()
	f := pathList{changed: true, refused: true, reasons: []string{field + " is not an array of folders"}}
	if v.Kind() == rpc.Array {
		f = c.filterPaths(v, func(path string) bool { return c.canReadFolder(readable, path) })
	}
	if f.changed {
		c.setField(field, jsonArray(f.kept), RuleRoots, f.reason())
	}
}

// decideMarketplace checks the marketplace file whose plugins a client reads. It must be in a
// readable folder, CODEX_HOME or ~/.agents.
func (c *request) decideMarketplace(fields []string) {
	field := fields[0]
	v := c.params.Get(field)
	if IsUnset(v) {
		return
	}
	readable := c.readableFolders()
	if c.st.CodexHome != "" {
		readable = append(readable, c.st.CodexHome)
	}
	if c.st.Home != "" {
		readable = append(readable, filepath.Join(c.st.Home, ".agents"))
	}
	path, err := c.st.Canonical(TextOf(v))
	switch {
	case err != nil || !WithinAny(readable, path):
		c.refuse(rpc.CodeRefused, "params."+field, RuleRoots, FormatValue(v)+" is "+outsideRoots, "open a thread in its folder first")
	case !v.Is(path):
		c.setField(field, JSONString(path), RuleRoots, "the bridge sends the canonical path")
	}
}
