package policy

import (
	"strconv"
	"strings"

	"codex-bridge/rpc"
)

// folders are a list of paths held to policy.
type folders struct {
	kept    []string // canonical
	changed bool
	refused bool     // one at least is not among them
	why     []string // a reason for each one that did not stay as it was
}

// hold keeps the paths of an array for which ok says so, in canonical spelling.
func (c *call) hold(v rpc.Value, ok func(path string) bool) folders {
	var f folders
	for e := range v.Elements() {
		text, _ := e.Text()
		path, err := c.st.canonical(text)
		switch {
		case e.Kind() != rpc.String:
			f.out(show(e) + " is not a path")
		case err != nil:
			f.out(show(e) + " can't be judged: " + err.Error())
		case !ok(path):
			f.out(show(e) + " is " + path + ", " + c.barred(path))
		default:
			if path != text {
				f.note(show(e) + " is fixed to " + path)
			}
			f.kept = append(f.kept, path)
			if path != c.workspace {
				c.newlyWritable = append(c.newlyWritable, path)
			}
		}
	}
	return f
}

func (f *folders) out(reason string) {
	f.refused = true
	f.note(reason)
}

func (f *folders) note(reason string) {
	f.changed = true
	// One message can carry very many paths; nobody reads so many reasons.
	const most = 8
	if len(f.why) < most {
		f.why = append(f.why, reason)
	} else if len(f.why) == most {
		f.why = append(f.why, "and more")
	}
}

func (f *folders) reason() string { return strings.Join(f.why, "; ") }

// array is the list as JSON.
func array(paths []string) []byte {
	out := []byte{'['}
	for i, p := range paths {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, quote(p)...)
	}
	return append(out, ']')
}

// workspaceRoots holds runtimeWorkspaceRoots. Measured: they take the place of
// the cwd as what workspace-write lets be written, stay with the thread, and
// count on later turns even when they were given to a read-only thread.
func (c *call) workspaceRoots([]string) {
	const field = "runtimeWorkspaceRoots"
	v := c.params.Get(field)
	if nothing(v) {
		if c.boundCwd {
			c.bindCwd(v)
		}
		return
	}
	if v.Kind() != rpc.Array {
		c.dropField(field, ruleRoots, "it is not an array of paths")
		return
	}
	f := c.hold(v, c.root(v))
	switch {
	case !f.changed:
	case len(f.kept) == 0 && c.boundCwd:
		c.bindCwd(v)
	case len(f.kept) == 0:
		// Not []: that is a thread without any root, and nobody asked for it.
		c.dropField(field, ruleRoots, f.reason())
	default:
		c.setField(field, array(f.kept), ruleRoots, f.reason())
	}
}

// root returns a test for the workspace roots of a list: one in another could be replaced by a link, and
// is writable anyway.
func (c *call) root(list rpc.Value) func(path string) bool {
	var all []string
	for e := range list.Elements() {
		if at, err := c.st.canonical(textOf(e)); err == nil && c.entered(at) {
			all = append(all, at)
		}
	}
	outer := make(map[string]bool)
	for _, at := range outermost(all) {
		outer[at] = true
	}
	return func(path string) bool { return outer[path] && !c.swappable(path) }
}

// bindCwd makes the workspace the only root of a turn.
func (c *call) bindCwd(v rpc.Value) {
	const field = "runtimeWorkspaceRoots"
	to := array([]string{c.workspace})
	c.note(field, v, to, ruleRoots, "a command could replace the turn's cwd by a link, so that the workspace is the root, and not the cwd")
	c.edit().Set(c.params, field, to)
}

// environments holds the environments of a thread or turn. Measured: the cwd of
// the first becomes the cwd of the turns to come, its runtimeWorkspaceRoots what
// may be written. Other ids than local are executors elsewhere.
func (c *call) environments([]string) {
	const field = "environments"
	v := c.params.Get(field)
	if nothing(v) {
		return
	}
	if v.Kind() != rpc.Array {
		c.dropField(field, ruleRoots, "it is not an array of environments")
		return
	}
	var f folders
	var kept []string
	n := 0
	for e := range v.Elements() {
		if raw, ok := c.environment(e, n, &f); ok {
			kept = append(kept, string(raw))
		}
		n++
	}
	switch {
	case !f.changed:
	case len(kept) == 0:
		c.dropField(field, ruleRoots, f.reason())
	default:
		c.setField(field, []byte("["+strings.Join(kept, ",")+"]"), ruleRoots, f.reason())
	}
}

// environment is one entry as Codex may have it; false takes it out.
func (c *call) environment(e rpc.Value, n int, f *folders) ([]byte, bool) {
	at := "entry " + strconv.Itoa(n) + ": "
	if e.Kind() != rpc.Object {
		f.out(at + "it is not an object")
		return nil, false
	}
	for key := range e.Members() {
		switch key {
		case "environmentId", "cwd", "runtimeWorkspaceRoots":
		default:
			f.out(at + "unknown member " + strconv.Quote(key))
			return nil, false
		}
	}
	if !e.Get("environmentId").Is("local") {
		f.out(at + "only the environment local is known")
		return nil, false
	}
	text, _ := e.Get("cwd").Text() // "" can't be judged either
	cwd, err := c.st.canonical(text)
	switch {
	case err != nil:
		f.out(at + "its cwd can't be judged")
		return nil, false
	case !c.entered(cwd) || c.swappable(cwd):
		f.out(at + cwd + " is " + c.barred(cwd))
		return nil, false
	case cwd != text:
		f.out(at + show(e.Get("cwd")) + " is fixed to " + cwd)
	}
	if cwd != c.workspace {
		c.newlyWritable = append(c.newlyWritable, cwd)
	}
	raw := append([]byte(`{"environmentId":"local","cwd":`), quote(cwd)...)
	roots := e.Get("runtimeWorkspaceRoots")
	if roots.Kind() == rpc.Array {
		inner := c.hold(roots, c.root(roots))
		if inner.changed {
			f.out(at + inner.reason())
		}
		if len(inner.kept) > 0 || !inner.changed {
			raw = append(append(raw, `,"runtimeWorkspaceRoots":`...), array(inner.kept)...)
		}
	} else if !nothing(roots) {
		f.out(at + "runtimeWorkspaceRoots is not an array")
	}
	return append(raw, '}'), true
}
