package policy

import (
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// pathList is a list of paths after a check.
type pathList struct {
	kept    []string // canonical
	changed bool
	refused bool     // at least one path is missing in kept
	reasons []string // for each path that changed
}

// filterPaths returns the canonical paths of an array for which ok returns true.
func (c *decider) filterPaths(v rpc.Value, ok func(path string) bool) pathList {
	var f pathList
	for e := range v.Elements() {
		text, _ := e.Text()
		path, err := c.st.canonical(text)
		switch {
		case e.Kind() != rpc.String:
			f.reject(formatValue(e) + " is not a path")
		case err != nil:
			f.reject(formatValue(e) + " can't be resolved: " + err.Error())
		case !ok(path):
			f.reject(formatValue(e) + " is " + path + ", " + c.barredReason(path))
		default:
			if path != text {
				f.addReason(formatValue(e) + " becomes its canonical path " + path)
			}
			f.kept = append(f.kept, path)
		}
	}
	return f
}

// filterWritable is filterPaths for folders that commands can write by this message.
func (c *decider) filterWritable(v rpc.Value, ok func(path string) bool) pathList {
	return c.filterPaths(v, func(path string) bool {
		if !ok(path) {
			return false
		}
		if path != c.workspace {
			c.newlyWritable = append(c.newlyWritable, path)
		}
		return true
	})
}

func (f *pathList) reject(reason string) {
	f.refused = true
	f.addReason(reason)
}

func (f *pathList) addReason(reason string) {
	f.changed = true
	// A message may have many paths; a person does not read more reasons.
	const most = 8
	if len(f.reasons) < most {
		f.reasons = append(f.reasons, reason)
	} else if len(f.reasons) == most {
		f.reasons = append(f.reasons, "and more")
	}
}

func (f *pathList) reason() string { return strings.Join(f.reasons, "; ") }

// decideWorkspaceRoots checks runtimeWorkspaceRoots. Measured with Codex 0.169: they replace the
// cwd as writable folders of workspace-write, stay with the thread, and count in later turns even
// if a read-only thread got them.
func (c *decider) decideWorkspaceRoots([]string) {
	const field = "runtimeWorkspaceRoots"
	v := c.params.Get(field)
	if isUnset(v) {
		if c.limitsRoot {
			c.limitRootToWorkspace(v)
		}
		return
	}
	if v.Kind() != rpc.Array {
		c.dropField(field, ruleRoots, "it is not an array of paths")
		return
	}
	f := c.filterWritable(v, c.rootFilter(v))
	switch {
	case !f.changed:
	case len(f.kept) == 0 && c.limitsRoot:
		c.limitRootToWorkspace(v)
	case len(f.kept) == 0:
		// An empty array would be a thread without roots, which the client did not request.
		c.dropField(field, ruleRoots, f.reason())
	default:
		c.setField(field, jsonArray(f.kept), ruleRoots, f.reason())
	}
}

// rootFilter returns a test for workspace roots of a list. It rejects a root inside another: a
// command could replace it by a link, and it is writable anyway.
func (c *decider) rootFilter(list rpc.Value) func(path string) bool {
	var all []string
	for e := range list.Elements() {
		if at, err := c.st.canonical(textOf(e)); err == nil && c.canWorkIn(at) {
			all = append(all, at)
		}
	}
	outer := make(map[string]bool)
	for _, at := range outermost(all) {
		outer[at] = true
	}
	return func(path string) bool { return outer[path] && !c.isReplaceable(path) }
}

// decideEnvironments checks the environments of a thread or turn. Measured with Codex 0.169: the
// first one's cwd becomes the cwd of later turns, and its runtimeWorkspaceRoots become writable.
// Ids other than local are remote executors.
func (c *decider) decideEnvironments([]string) {
	const field = "environments"
	v := c.params.Get(field)
	if isUnset(v) {
		return
	}
	if v.Kind() != rpc.Array {
		c.dropField(field, ruleRoots, "it is not an array of environments")
		return
	}
	var f pathList
	var kept []string
	n := 0
	for e := range v.Elements() {
		if raw, ok := c.decideEnvironment(e, n, &f); ok {
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

// decideEnvironment returns the allowed form of one environment; false removes it.
func (c *decider) decideEnvironment(e rpc.Value, n int, f *pathList) ([]byte, bool) {
	at := "entry " + strconv.Itoa(n) + ": "
	if e.Kind() != rpc.Object {
		f.reject(at + "it is not an object")
		return nil, false
	}
	for key := range e.Members() {
		switch key {
		case "environmentId", "cwd", "runtimeWorkspaceRoots":
		default:
			f.reject(at + "unknown member " + strconv.Quote(key))
			return nil, false
		}
	}
	if !e.Get("environmentId").Is("local") {
		f.reject(at + "only the environment local is allowed")
		return nil, false
	}
	text, _ := e.Get("cwd").Text() // "" has no canonical path
	cwd, err := c.st.canonical(text)
	switch {
	case err != nil:
		f.reject(at + "its cwd can't be resolved")
		return nil, false
	case !c.canWorkIn(cwd) || c.isReplaceable(cwd):
		f.reject(at + cwd + " is " + c.barredReason(cwd))
		return nil, false
	case cwd != text:
		f.reject(at + formatValue(e.Get("cwd")) + " becomes its canonical path " + cwd)
	}
	if cwd != c.workspace {
		c.newlyWritable = append(c.newlyWritable, cwd)
	}
	raw := append([]byte(`{"environmentId":"local","cwd":`), jsonString(cwd)...)
	roots := e.Get("runtimeWorkspaceRoots")
	if roots.Kind() == rpc.Array {
		inner := c.filterWritable(roots, c.rootFilter(roots))
		if inner.changed {
			f.reject(at + inner.reason())
		}
		if len(inner.kept) > 0 || !inner.changed {
			raw = append(append(raw, `,"runtimeWorkspaceRoots":`...), jsonArray(inner.kept)...)
		}
	} else if !isUnset(roots) {
		f.reject(at + "runtimeWorkspaceRoots is not an array")
	}
	return append(raw, '}'), true
}
