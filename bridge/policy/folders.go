package policy

import (
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// pathList is a list of paths after a check.
type pathList struct {
	kept    []string // canonical
	changed bool
	refused bool     // at least one path is missing in kept
	lost    bool     // at least one of them is not in a kept one either
	invalid bool     // one of them is not a text
	reasons []string // for each path that changed
}

// filterPaths returns the canonical paths of an array for which ok returns true.
func (c *folders) filterPaths(v rpc.Value, ok func(path string) bool) pathList {
	var f pathList
	for e := range v.Elements() {
		text, _ := e.Text()
		path, err := c.st.Canonical(text)
		switch {
		case e.Kind() != rpc.String:
			f.invalid = true
			f.reject(FormatValue(e) + " is not a path")
		case err != nil:
			f.lost = true
			f.reject(FormatValue(e) + " can't be resolved: " + err.Error())
		case !ok(path):
			f.reject(FormatValue(e) + " is " + path + ", " + c.barredReason(path))
		default:
			if path != text {
				f.addReason(FormatValue(e) + " becomes its canonical path " + path)
			}
			f.kept = append(f.kept, path)
		}
	}
	return f
}

// filterWritable is filterPaths for folders that commands can write by this message.
func (c *folders) filterWritable(v rpc.Value, ok func(path string) bool) pathList {
	var rejected []string
	f := c.filterPaths(v, func(path string) bool {
		if !ok(path) {
			rejected = append(rejected, path)
			return false
		}
		if path != c.workspace {
			c.newlyWritable = append(c.newlyWritable, path)
		}
		return true
	})
	f.lost = f.lost || slices.ContainsFunc(rejected, func(path string) bool { return !WithinAny(f.kept, path) })
	return f
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
// if a read-only thread got them. So it refuses a list of which nothing is left: without it, commands
// could write the folders that the thread has.
func decideWorkspaceRoots(c folders) folders {
	if v := c.params.Get("runtimeWorkspaceRoots"); !IsUnset(v) {
		return keepWorkspaceRoots(c, v)
	}
	return c
}

func keepWorkspaceRoots(c folders, v rpc.Value) folders {
	const field = "runtimeWorkspaceRoots"
	if _, ok := c.requireArray(field, "paths"); !ok {
		return c
	}
	f := c.filterWritable(v, c.rootFilter(v))
	switch {
	case f.invalid:
		c.refuse(rpc.CodeInvalidParams, "params."+field, RuleProtocol, f.reason(), "send an array of paths")
	case !f.changed:
	case len(f.kept) == 0:
		c.refuse(rpc.CodeRefused, "params."+field, RuleRoots, f.reason(), otherRoots)
	default:
		c.keepRemovedRoots("params."+field, v, f.kept)
		c.setField(field, jsonArray(f.kept), RuleRoots, f.reason())
		c.changes[len(c.changes)-1].Narrows = f.lost
	}
	c.keepOuterRoots(field, f.kept)
	return c
}

// otherRoots says what to send in place of roots that the bridge refuses.
const otherRoots = "send the workspace as cwd and root, or open a thread with these folders by thread/start"

// rootFilter returns a test for workspace roots of a list. It rejects a root inside another: a
// command could replace it by a link, and it is writable anyway.
func (c *folders) rootFilter(list rpc.Value) func(path string) bool {
	var all []string
	for e := range list.Elements() {
		if at, err := c.st.Canonical(TextOf(e)); err == nil && c.canWorkIn(at) {
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
// Ids other than local are remote executors. Without an environment, commands would run on this
// machine, with the folders of the thread. So the bridge removes none.
func decideEnvironments(c folders) folders {
	if IsUnset(c.params.Get("environments")) {
		return c
	}
	return keepEnvironments(c)
}

func keepEnvironments(c folders) folders {
	const field = "environments"
	v, ok := c.requireArray(field, "environments")
	if !ok {
		return c
	}
	var f pathList
	var sent []string
	for e := range v.Elements() {
		raw, why := c.decideEnvironment(e, &f)
		at := "params." + field + "[" + strconv.Itoa(len(sent)) + "]"
		if why != "" {
			c.refuse(rpc.CodeRefused, at, RuleRoots, why, "send the environment local with the workspace, or open a thread there")
			return c
		}
		sent = append(sent, string(raw))
	}
	if f.changed {
		c.setField(field, []byte("["+strings.Join(sent, ",")+"]"), RuleRoots, f.reason())
		c.changes[len(c.changes)-1].Narrows = f.lost
	}
	return c
}

// decideEnvironment returns the form of one environment that Codex gets, or why it may have none.
func (c *folders) decideEnvironment(e rpc.Value, f *pathList) (raw []byte, why string) {
	if e.Kind() != rpc.Object {
		return nil, "it is not an object"
	}
	for key := range e.Members() {
		switch key {
		case "environmentId", "cwd", "runtimeWorkspaceRoots":
		default:
			return nil, "unknown member " + strconv.Quote(key)
		}
	}
	if !e.Get("environmentId").Is("local") {
		return nil, "only the environment local is allowed, not " + FormatValue(e.Get("environmentId"))
	}
	text, _ := e.Get("cwd").Text() // "" has no canonical path
	cwd, err := c.st.Canonical(text)
	switch {
	case err != nil:
		return nil, "its cwd can't be resolved"
	case !c.canWorkIn(cwd) || c.isReplaceable(cwd):
		return nil, cwd + " is " + c.barredReason(cwd)
	case cwd != text:
		f.addReason(FormatValue(e.Get("cwd")) + " becomes its canonical path " + cwd)
	}
	if cwd != c.workspace {
		c.newlyWritable = append(c.newlyWritable, cwd)
	}
	raw = append([]byte(`{"environmentId":"local","cwd":`), JSONString(cwd)...)
	roots := e.Get("runtimeWorkspaceRoots")
	switch {
	case IsUnset(roots):
		c.keepOuterRoots("environments", []string{cwd})
		return append(raw, '}'), ""
	case roots.Kind() != rpc.Array:
		return nil, "runtimeWorkspaceRoots is not an array"
	}
	inner := c.filterWritable(roots, c.rootFilter(roots))
	if inner.invalid || inner.refused && len(inner.kept) == 0 {
		return nil, inner.reason()
	}
	if inner.changed {
		c.keepRemovedRoots("params.environments", roots, inner.kept)
		f.addReason(inner.reason())
		f.lost = f.lost || inner.lost
	}
	c.keepOuterRoots("environments", inner.kept)
	raw = append(append(raw, `,"runtimeWorkspaceRoots":`...), jsonArray(inner.kept)...)
	return append(raw, '}'), ""
}
