package policy

import (
	"cmp"
	"strconv"

	"codex-bridge.example/rpc"
)

const ruleNetwork = "policy.network"

// decideTurnSandbox checks sandboxPolicy and permissions of a turn or of settings.
func (c *decider) decideTurnSandbox([]string) {
	object, profile := c.params.Get("sandboxPolicy"), c.params.Get("permissions")
	if !IsUnset(object) {
		asked, _ := levelOfPolicy(object)
		if c.dropOtherSandbox("permissions", profile, "sandboxPolicy", asked); c.err == nil {
			c.decideSandboxPolicy(object)
		}
		return
	}
	if IsUnset(profile) {
		c.narrowKeptSandbox()
		return
	}
	asked, ok := levelNamed(profile, builtinProfiles[:])
	if c.decideUserTurn(textOf(profile)) {
		return
	}
	if f, own := parseProfileName(textOf(profile)); own && c.st.Thread != nil && c.st.Thread.Profile.Defined && !f.readOnly {
		asked = WorkspaceWrite
		if to, _, _ := c.allowedLevel(asked); to == asked {
			c.namesBridgeProfile = true
			c.lowerTurnProfile(f)
			return
		}
	}
	to, rule, reason := c.allowedLevel(asked)
	if ok && to == WorkspaceWrite {
		c.turnPolicy, c.hasTurnPolicy = sandboxPolicy{level: to}, true
		if to != asked {
			c.turnPolicy = c.putInPlace(c.turnPolicy)
		}
	}
	if !ok {
		to, rule, reason = ReadOnly, ruleSandbox, "the rights of the profile "+formatValue(profile)+" are unknown"
	}
	c.readOnlyTurn = to == ReadOnly
	if !ok || to != asked {
		c.dropField("permissions", rule, reason)
		if to == WorkspaceWrite && c.innerRoot() != "" {
			return // the thread keeps its sandbox
		}
		c.setField("sandboxPolicy", c.putInPlace(sandboxPolicy{level: to}).json(), rule, reason)
	}
}

// putInPlace returns a sandbox in place of a wider one: workspace-write without the temporary folders that the
// thread's own would not have.
func (c *decider) putInPlace(o sandboxPolicy) sandboxPolicy {
	if t := c.st.Thread; t != nil && o.level == WorkspaceWrite {
		own := t.Sandbox == WorkspaceWrite.String()
		o.noTmpdir = o.noTmpdir || t.WithoutTmpdir || own && t.NoTmpdir
		o.noSlashTmp = o.noSlashTmp || t.WithoutSlashTmp || own && t.NoSlashTmp
	}
	return o
}

// narrowKeptSandbox lets a turn write nothing that would keep the thread's workspace-write in a folder
// in which it can't be kept.
func (c *decider) narrowKeptSandbox() {
	has, known := parseMode(c.st.Thread.Sandbox)
	if c.narrowed == "" || IsUnset(c.params.Get("cwd")) || known && has != WorkspaceWrite {
		return
	}
	c.readOnlyTurn = true
	c.setField("sandboxPolicy", sandboxPolicy{}.json(), ruleRoots, c.narrowed)
	c.changes[len(c.changes)-1].Narrows = true
}

// decideUserTurn decides about a turn that names a profile of the user's, or the bridge's profile in
// its place, and reports whether it did. It refuses the turn if the bridge's profile does not have what
// the named one denies.
func (c *decider) decideUserTurn(name string) (decided bool) {
	t := c.st.Thread
	f, own := parseProfileName(name)
	if own {
		name = f.user
	}
	theirs := own && t != nil && (name == "" || name == t.Profile.User)
	if theirs && f.readOnly && t.Profile.hasReadOnly() {
		c.readOnlyTurn = true
		return true
	}
	switch {
	case theirs || !namesUserProfile(name):
		return false
	case t == nil || t.Profile.User == "":
		c.refuse(rpc.CodeRefused, "params.permissions", ruleUser, "the thread does not have what the permissions profile "+name+" denies",
			"open another thread with the profile, or name a builtin one")
		return true
	case name != t.Profile.User:
		c.refuse(rpc.CodeRefused, "params.permissions", ruleUser, "the thread has what the permissions profile "+t.Profile.User+" denies, not "+name,
			"open another thread with the profile")
		return true
	}
	to, rule, reason := c.allowedLevel(ReadOnly)
	if t.Profile.UserWrites {
		to, rule, reason = c.allowedLevel(WorkspaceWrite)
	}
	if to == WorkspaceWrite && c.innerRoot() == "" {
		c.turnPolicy, c.hasTurnPolicy = sandboxPolicy{level: to, network: t.Profile.UserNetwork}, true
		return true
	}
	c.dropField("permissions", cmp.Or(rule, ruleUser), cmp.Or(reason, "the bridge's profile has what it denies, and lets commands write nothing"))
	c.readOnlyTurn = true
	return true
}

// requestsWorkspaceWrite reports whether Codex will get a workspace-write sandboxPolicy, because
// the client sent that or more.
func (c *decider) requestsWorkspaceWrite() bool {
	object, profile := c.params.Get("sandboxPolicy"), c.params.Get("permissions")
	if !IsUnset(object) {
		asked, ok := levelOfPolicy(object)
		to, _, _ := c.allowedLevel(asked)
		return ok && to == WorkspaceWrite
	}
	asked, ok := levelNamed(profile, builtinProfiles[:])
	to, _, _ := c.allowedLevel(asked)
	return ok && to == WorkspaceWrite && to != asked
}

// levelOfPolicy returns the level of a sandboxPolicy; ReadOnly and false for an unknown type.
func levelOfPolicy(object rpc.Value) (level, bool) {
	if object.Get("type").Is("externalSandbox") {
		return FullAccess, true
	}
	return levelNamed(object.Get("type"), typeNames[:])
}

// sandboxPolicy has the members of a sandboxPolicy that the bridge could read.
type sandboxPolicy struct {
	level      level
	external   bool // externalSandbox: another program confines Codex
	network    bool
	noTmpdir   bool
	noSlashTmp bool
	invalid    []string // unknown members, or of another form
}

func (o sandboxPolicy) json() []byte {
	network := strconv.FormatBool(o.network)
	switch o.level {
	case ReadOnly:
		return []byte(`{"type":"readOnly","networkAccess":` + network + `}`)
	case WorkspaceWrite:
		return []byte(`{"type":"workspaceWrite","writableRoots":[],"networkAccess":` + network +
			`,"excludeTmpdirEnvVar":` + strconv.FormatBool(o.noTmpdir) +
			`,"excludeSlashTmp":` + strconv.FormatBool(o.noSlashTmp) + `}`)
	}
	return []byte(`{"type":"dangerFullAccess"}`)
}

// read reads the members of the right kind and form. Measured with Codex 0.169: an omitted member
// means no network and no roots.
func (o *sandboxPolicy) read(v rpc.Value) {
	for key, m := range v.Members() {
		ok := false
		switch {
		case key == "type":
			ok = true
		case key == "networkAccess" && o.external:
			o.network = m.Is("enabled")
			ok = o.network || m.Is("restricted")
		case key == "networkAccess" && o.level != FullAccess:
			o.network, ok = m.Bool()
		case o.level != WorkspaceWrite:
		case key == "excludeTmpdirEnvVar":
			o.noTmpdir, ok = m.Bool()
		case key == "excludeSlashTmp":
			o.noSlashTmp, ok = m.Bool()
		case key == "writableRoots":
			ok = m.Kind() == rpc.Array
		}
		if !ok {
			o.invalid = append(o.invalid, key)
		}
	}
}

// hasLooserSandbox reports whether the thread's sandbox allows something that o does not.
func (c *decider) hasLooserSandbox(o sandboxPolicy) bool {
	t := c.st.Thread
	has, known := parseMode(t.Sandbox)
	return known && (has > o.level || has == o.level && (t.Network && !o.network || !t.NoTmpdir && o.noTmpdir || !t.NoSlashTmp && o.noSlashTmp))
}

// decideSandboxPolicy checks a sandboxPolicy. It replaces one whose level is too high, and corrects
// single members of others.
func (c *decider) decideSandboxPolicy(v rpc.Value) {
	const field = "sandboxPolicy"
	o := sandboxPolicy{external: v.Get("type").Is("externalSandbox")}
	var ok bool
	o.level, ok = levelOfPolicy(v)
	if !ok {
		// Measured with Codex 0.169: it also reads ["dangerFullAccess"] as the object.
		c.setField(field, sandboxPolicy{}.json(), ruleSandbox, formatValue(v)+" is not one of the four types of sandboxPolicy")
		c.readOnlyTurn = true
		return
	}
	o.read(v)
	to, rule, reason := c.allowedLevel(o.level)
	if root := c.innerRoot(); root != "" && to == WorkspaceWrite {
		if o.level = to; c.hasLooserSandbox(o) {
			c.refuse(rpc.CodeRefused, "params."+field, ruleRoots, "the thread has a looser sandbox, and this one makes "+c.workspace+" writable, where a command could replace the thread's root "+root+" by a link",
				"send the workspace as cwd, or a readOnly sandboxPolicy")
			return
		}
		c.dropField(field, ruleRoots, "it makes "+c.workspace+" writable, where a command could replace the thread's root "+root+" by a link; send the workspace as cwd, or open another thread")
		return
	}
	c.readOnlyTurn = to == ReadOnly
	if to != o.level {
		// Full access includes the network, so the lower level may have it if the policy allows it. A
		// read-only sandbox in place of workspace-write has none: Codex would restore it when it resumes the
		// thread, but not the workspace-write. See takesDefault.
		o.network = c.p.network && (o.network && o.level != WorkspaceWrite || o.level == FullAccess && !o.external)
		o.level = to
		o = c.putInPlace(o)
		c.setField(field, o.json(), rule, reason)
		if to == WorkspaceWrite {
			c.turnPolicy, c.hasTurnPolicy = o, true
		}
		return
	}
	if o.level == WorkspaceWrite {
		c.turnPolicy, c.hasTurnPolicy = o, true
	}
	for _, key := range o.invalid {
		c.drop(v, key, field+"."+key, ruleSandbox, "this type of sandboxPolicy has no such member, or it has another form")
	}
	if o.network && !c.p.network {
		to := []byte("false")
		if o.external {
			to = JSONString("restricted")
		}
		c.set(v, "networkAccess", field+".networkAccess", to, ruleNetwork, "the policy forbids the network")
	}
	roots := v.Get("writableRoots")
	if o.level != WorkspaceWrite || roots.Kind() != rpc.Array {
		return
	}
	f := c.filterWritable(roots, func(path string) bool {
		return writableBelowAny(c.allowed(), path) && c.enclosingWritable(path) == "" && !c.isReplaceable(path) && !c.st.overlapsSensitive(path) && c.otherPolicyFile(path) == "" &&
			(path == c.workspace || !c.st.holdsProgram(path) && (c.workspace == "" || !Within(path, c.workspace)))
	})
	c.turnRoots = f.kept
	if c.keepInnerRoots("params."+field+".writableRoots", roots, f.kept, o.noTmpdir, o.noSlashTmp); c.err != nil {
		return
	}
	if f.changed {
		c.set(v, "writableRoots", field+".writableRoots", jsonArray(f.kept), ruleRoots, f.reason())
	}
}
