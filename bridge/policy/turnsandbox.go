package policy

import (
	"slices"
	"strconv"

	"codex-bridge/rpc"
)

const ruleNetwork = "policy.network"

// turnSandbox holds sandboxPolicy and permissions of a turn or of the settings.
func (c *call) turnSandbox([]string) {
	object, profile := c.params.Get("sandboxPolicy"), c.params.Get("permissions")
	if !nothing(object) {
		if !nothing(profile) {
			c.dropField("permissions", ruleSandbox, "it excludes sandboxPolicy, which is the one that says what it allows")
		}
		c.objectAsked(object)
		return
	}
	if nothing(profile) {
		return
	}
	asked, ok := named(profile, profileNames[:])
	if f, own := fenceNamed(textOf(profile)); own && c.st.Thread != nil && c.st.Thread.Profile.Defined {
		asked = workspaceWrite
		if to, _, _ := c.lower(asked); to == asked {
			c.ownProfile = true
			c.lowerFence(f)
			return
		}
	}
	to, rule, reason := c.lower(asked)
	if ok && to == workspaceWrite {
		c.writes = &sandboxObject{level: to}
	}
	if !ok {
		to, rule, reason = readOnly, ruleSandbox, "what the profile "+show(profile)+" allows can't be seen"
	}
	if !ok || to != asked {
		c.dropField("permissions", rule, reason)
		if to == workspaceWrite && c.innerRoot() != "" {
			return // the thread keeps its sandbox
		}
		c.setField("sandboxPolicy", sandboxObject{level: to}.json(), rule, reason)
	}
}

// lowerFence replaces the variant of the bridge's profile that a turn names where the policy allows less. The profile has
// the roots and the network that were allowed when the thread was opened.
func (c *call) lowerFence(f fenceFlags) {
	const field = "permissions"
	if f.network && !c.p.network {
		f.network = false
		c.setField(field, quote(f.name()), ruleNetwork, "the network is not allowed")
	}
	if barred := c.barredRoot(c.st.Thread.Profile.Roots); f.roots && (barred != "" || len(c.st.Thread.Profile.Roots) == 0) {
		f.roots = false
		reason := "the thread has no writable roots of codex's configuration"
		if barred != "" {
			reason = "it makes " + barred + " writable, which is not allowed"
		}
		c.setField(field, quote(f.name()), ruleRoots, reason)
	}
}

// barredRoot returns the first of a profile's roots that the policy does not let be written; "" if there is none.
func (c *call) barredRoot(roots []string) string {
	for _, root := range roots {
		if !c.mayBeRoot(root) {
			return root
		}
	}
	return ""
}

// mayBeRoot reports whether the policy lets a writable root of Codex's configuration be written.
func (c *call) mayBeRoot(root string) bool {
	return belowAny(c.allowed(), root) && !c.st.exposes(root) && !c.st.inPath(root) && !c.st.holdsLink(root) &&
		!c.p.protects(c.allowed(), root) && !c.p.leadsToProtected(root)
}

// namesWorkspaceWrite reports whether the turn that Codex gets has a workspace-write sandboxPolicy: the client asked
// for it, or for more.
func (c *call) namesWorkspaceWrite() bool {
	object, profile := c.params.Get("sandboxPolicy"), c.params.Get("permissions")
	if !nothing(object) {
		asked, ok := named(object.Get("type"), typeNames[:])
		if object.Get("type").Is("externalSandbox") {
			asked, ok = fullAccess, true
		}
		to, _, _ := c.lower(asked)
		return ok && to == workspaceWrite
	}
	asked, ok := named(profile, profileNames[:])
	to, _, _ := c.lower(asked)
	return ok && to == workspaceWrite && to != asked
}

// innerRoot returns a root of the thread, or its cwd, that lies inside the workspace; "" if there is none. Codex keeps
// roots and cwd from earlier turns. With a workspace-write sandboxPolicy both folders would be writable, and a
// command could replace the inner one by a link.
func (c *call) innerRoot() string {
	t := c.st.Thread
	if t == nil || t.Profile.Defined {
		return ""
	}
	roots := t.Roots
	if nothing(c.params.Get("cwd")) && t.Cwd != "" {
		roots = append(slices.Clip(roots), t.Cwd) // the turn stays there, and that folder is writable by itself
	}
	for _, root := range roots {
		if folder := c.swappableIn(root); folder != "" && folder == t.Workspace {
			return root
		}
	}
	return ""
}

// sandboxObject is a sandboxPolicy as far as it could be read.
type sandboxObject struct {
	level      level
	external   bool // externalSandbox: somebody else confines codex, codex itself does not
	network    bool
	noTmpdir   bool
	noSlashTmp bool
	odd        []string // members that don't belong there, or not in their shape
}

func (o sandboxObject) json() []byte {
	network := strconv.FormatBool(o.network)
	switch o.level {
	case readOnly:
		return []byte(`{"type":"readOnly","networkAccess":` + network + `}`)
	case workspaceWrite:
		return []byte(`{"type":"workspaceWrite","writableRoots":[],"networkAccess":` + network +
			`,"excludeTmpdirEnvVar":` + strconv.FormatBool(o.noTmpdir) +
			`,"excludeSlashTmp":` + strconv.FormatBool(o.noSlashTmp) + `}`)
	}
	return []byte(`{"type":"dangerFullAccess"}`)
}

// objectAsked holds a sandboxPolicy: replaced when its level is too high, else
// mended member by member.
func (c *call) objectAsked(v rpc.Value) {
	const field = "sandboxPolicy"
	kind := v.Get("type")
	o := sandboxObject{external: kind.Is("externalSandbox")}
	var ok bool
	if o.level, ok = named(kind, typeNames[:]); o.external {
		o.level, ok = fullAccess, true
	}
	if !ok {
		// Measured: codex also takes ["dangerFullAccess"] for the object.
		c.setField(field, sandboxObject{}.json(), ruleSandbox, show(v)+" is none of the four kinds of sandboxPolicy")
		return
	}
	o.read(v)
	to, rule, reason := c.lower(o.level)
	if root := c.innerRoot(); root != "" && to == workspaceWrite {
		c.dropField(field, ruleRoots, "it makes "+c.workspace+" writable, where a command could replace the thread's root "+root+" by a link; send the workspace as cwd, or open another thread")
		return
	}
	if to != o.level {
		// What full access lets out by the network, the lower level may, too,
		// where policy lets anything out.
		o.network = c.p.network && (o.network || o.level == fullAccess && !o.external)
		o.level = to
		c.setField(field, o.json(), rule, reason)
		if to == workspaceWrite {
			c.writes = &o
		}
		return
	}
	if o.level == workspaceWrite {
		c.writes = &o
	}
	for _, key := range o.odd {
		c.drop(v, key, field+"."+key, ruleSandbox, "it does not belong there, or not in this shape")
	}
	if o.network && !c.p.network {
		to := []byte("false")
		if o.external {
			to = quote("restricted")
		}
		c.set(v, "networkAccess", field+".networkAccess", to, ruleNetwork, "the network is not allowed")
	}
	roots := v.Get("writableRoots")
	if o.level != workspaceWrite || roots.Kind() != rpc.Array {
		return
	}
	f := c.hold(roots, func(path string) bool {
		return belowAny(c.allowed(), path) && c.enclosing(path) == "" && !c.swappable(path) && !c.st.exposes(path) && c.foreignFile(path) == "" &&
			(path == c.workspace || !c.st.holdsProgram(path) && (c.workspace == "" || !within(path, c.workspace)))
	})
	c.writable = f.kept
	if f.changed {
		c.set(v, "writableRoots", field+".writableRoots", array(f.kept), ruleRoots, f.reason())
	}
}

// read takes the members that belong to the kind and have their shape. Left out,
// each has its closed value (measured: no network, no roots).
func (o *sandboxObject) read(v rpc.Value) {
	for key, m := range v.Members() {
		ok := false
		switch {
		case key == "type":
			ok = true
		case key == "networkAccess" && o.external:
			o.network = m.Is("enabled")
			ok = o.network || m.Is("restricted")
		case key == "networkAccess" && o.level != fullAccess:
			o.network, ok = m.Bool()
		case o.level != workspaceWrite:
		case key == "excludeTmpdirEnvVar":
			o.noTmpdir, ok = m.Bool()
		case key == "excludeSlashTmp":
			o.noSlashTmp, ok = m.Bool()
		case key == "writableRoots":
			ok = m.Kind() == rpc.Array
		}
		if !ok {
			o.odd = append(o.odd, key)
		}
	}
}
