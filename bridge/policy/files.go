package policy

import (
	"path/filepath"

	"codex-bridge/rpc"
)

// readable are the folders that a client may read by itself: where verified
// threads work, where codex was started, and what may be written anyway.
func (c *call) readable() []string {
	var out []string
	for _, folder := range c.st.Workspaces {
		if usableWorkspace(c.st, folder) {
			out = append(out, folder)
		}
	}
	if usableWorkspace(c.st, c.st.StartFolder) {
		out = append(out, c.st.StartFolder)
	}
	return append(out, c.p.allowed(c.st, "")...)
}

const outsideRoots = "outside the workspaces of this conversation and policy.writable_roots"

// readPath holds the path of a file that a client reads: codex asks no sandbox
// about it. It is sent in the spelling that was judged, so that no link in it
// counts any more.
func (c *call) readPath([]string) {
	v := c.params.Get("path")
	text, ok := v.Text()
	if !ok {
		c.refuse(rpc.CodeInvalidParams, "params.path", "protocol", "path is "+v.Kind().String(), "send an absolute path")
		return
	}
	path, err := c.st.canonical(text)
	switch {
	case err != nil:
		c.refuse(rpc.CodeRefused, "params.path", ruleRoots, show(v)+" can't be judged: "+err.Error(), "send the absolute path of something that can be read")
	case !withinAny(c.readable(), path):
		c.refuse(rpc.CodeRefused, "params.path", ruleRoots, path+" lies "+outsideRoots, "open a thread in its folder first")
	case path != text:
		c.setField("path", quote(path), ruleRoots, "the path is fixed to what it leads to now")
	}
}

// searchRoots holds the folders whose files a search names, or whose skills are
// offered.
func (c *call) searchRoots(fields []string) {
	field := fields[0]
	v := c.params.Get(field)
	if v.Kind() != rpc.Array {
		c.refuse(rpc.CodeInvalidParams, "params."+field, "protocol", field+" is "+v.Kind().String(), "send an array of folders")
		return
	}
	readable := c.readable()
	f := c.hold(v, func(path string) bool { return withinAny(readable, path) })
	switch {
	case !f.changed:
	case len(f.kept) == 0 && f.refused:
		c.refuse(rpc.CodeRefused, "params."+field, ruleRoots, f.reason(), "open a thread in the folder first")
	default:
		c.setField(field, array(f.kept), ruleRoots, f.reason())
	}
}

// readsFolder reports whether a client may have Codex look into a folder for its project's
// configuration, skills, hooks or plugins. A project's configuration that is a link must not
// lead anywhere else.
func (c *call) readsFolder(readable []string, folder string) bool {
	if !withinAny(readable, folder) {
		return false
	}
	for at := folder; ; at = filepath.Dir(at) {
		file := filepath.Join(at, ".codex", "config.toml")
		if leads, err := c.st.canonical(file); err != nil || leads != file && !withinAny(readable, leads) {
			return false
		}
		if filepath.Dir(at) == at {
			return true
		}
	}
}

// readCwd holds the folder whose configuration a client reads. Measured: config/read shows any
// project's, trusted or not, with the keys of its servers; without a cwd it shows none.
func (c *call) readCwd([]string) {
	v := c.params.Get("cwd")
	if nothing(v) {
		return
	}
	path, err := c.st.canonical(textOf(v))
	switch {
	case err != nil:
		c.dropField("cwd", ruleRoots, show(v)+" can't be judged")
	case !c.readsFolder(c.readable(), path):
		c.dropField("cwd", ruleRoots, path+" lies "+outsideRoots+", or its configuration does")
	case !v.Is(path):
		c.setField("cwd", quote(path), ruleRoots, "the path is fixed to what it leads to now")
	}
}

// readCwds is readCwd for a list of folders.
func (c *call) readCwds(fields []string) {
	field := fields[0]
	v := c.params.Get(field)
	if nothing(v) {
		return
	}
	readable := c.readable()
	f := folders{changed: true, refused: true, why: []string{field + " is no array of folders"}}
	if v.Kind() == rpc.Array {
		f = c.hold(v, func(path string) bool { return c.readsFolder(readable, path) })
	}
	if f.changed {
		c.setField(field, array(f.kept), ruleRoots, f.reason())
	}
}

// readMarketplace holds the file of a marketplace whose plugins a client reads: one in a folder
// that it may read, or one of the user's own.
func (c *call) readMarketplace(fields []string) {
	field := fields[0]
	v := c.params.Get(field)
	if nothing(v) {
		return
	}
	readable := c.readable()
	if c.st.CodexHome != "" {
		readable = append(readable, c.st.CodexHome)
	}
	if c.st.Home != "" {
		readable = append(readable, filepath.Join(c.st.Home, ".agents"))
	}
	path, err := c.st.canonical(textOf(v))
	switch {
	case err != nil || !withinAny(readable, path):
		c.refuse(rpc.CodeRefused, "params."+field, ruleRoots, show(v)+" lies "+outsideRoots, "open a thread in its folder first")
	case !v.Is(path):
		c.setField(field, quote(path), ruleRoots, "the path is fixed to what it leads to now")
	}
}
