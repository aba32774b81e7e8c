package policy

import (
	"cmp"
	"strconv"

	"codex-bridge.example/rpc"
)

// turnSandbox is the sandbox that a turn, or a change of settings, gives its thread. The zero value gives none.
type turnSandbox struct {
	readOnly           bool
	hasPolicy          bool          // it has a workspace-write policy
	policy             sandboxPolicy // set if hasPolicy is
	roots              []string      // the writable roots of policy
	namesBridgeProfile bool          // it names the bridge's profile
}

// decideTurnSandbox checks sandboxPolicy and permissions of a turn or of settings.
func decideTurnSandbox(c folders) (folders, turnSandbox) {
	object, profile := c.params.Get("sandboxPolicy"), c.params.Get("permissions")
	if !IsUnset(object) {
		asked, _ := levelOfPolicy(object)
		if c.dropOtherSandbox("permissions", profile, "sandboxPolicy", asked); c.err != nil {
			return c, turnSandbox{}
		}
		turn := c.decideSandboxPolicy(object)
		return c, turn
	}
	if IsUnset(profile) {
		return c, c.narrowKeptSandbox()
	}
	if turn, decided := c.decideUserTurn(TextOf(profile)); decided {
		return c, turn
	}
	return c, c.decideTurnProfileName(profile)
}

// decideTurnProfileName decides about a turn that names a builtin profile or the bridge's.
func (c *folders) decideTurnProfileName(profile rpc.Value) (turn turnSandbox) {
	asked, ok := levelNamed(profile, builtinProfiles[:])
	if f, own := parseProfileName(TextOf(profile)); own && c.st.Thread != nil && c.st.Thread.Profile.Defined && !f.readOnly {
		asked = WorkspaceWrite
		if to, _, _ := c.allowedLevel(asked); to == asked {
			c.lowerTurnProfile(f)
			return turnSandbox{namesBridgeProfile: true}
		}
	}
	to, rule, reason := c.allowedLevel(asked)
	if ok && to == WorkspaceWrite {
		turn.policy, turn.hasPolicy = sandboxPolicy{level: to}, true
		if to != asked {
			turn.policy = c.putInPlace(turn.policy)
		}
	}
	if !ok {
		to, rule, reason = ReadOnly, RuleSandbox, "the rights of the profile "+FormatValue(profile)+" are unknown"
	}
	turn.readOnly = to == ReadOnly
	if ok && to == asked {
		return turn
	}
	c.dropField("permissions", rule, reason)
	if to == WorkspaceWrite && c.innerRoot() != "" {
		return turn // the thread keeps its sandbox
	}
	c.setField("sandboxPolicy", c.putInPlace(sandboxPolicy{level: to}).json(), rule, reason)
	return turn
}

// putInPlace returns a sandbox in place of a wider one: workspace-write without the temporary folders that the
// thread's own would not have.
func (c *request) putInPlace(o sandboxPolicy) sandboxPolicy {
	if t := c.st.Thread; t != nil && o.level == WorkspaceWrite {
		own := t.Sandbox == WorkspaceWrite.String()
		o.noTmpdir = o.noTmpdir || t.WithoutTmpdir || own && t.NoTmpdir
		o.noSlashTmp = o.noSlashTmp || t.WithoutSlashTmp || own && t.NoSlashTmp
	}
	return o
}

// narrowKeptSandbox lets a turn write nothing that would keep the thread's workspace-write in a folder
// in which it can't be kept.
func (c *folders) narrowKeptSandbox() (turn turnSandbox) {
	has, known := ParseMode(c.st.Thread.Sandbox)
	if c.narrowed == "" || IsUnset(c.params.Get("cwd")) || known && has != WorkspaceWrite {
		return turn
	}
	c.setField("sandboxPolicy", sandboxPolicy{}.json(), RuleRoots, c.narrowed)
	c.changes[len(c.changes)-1].Narrows = true
	return turnSandbox{readOnly: true}
}

// decideUserTurn decides about a turn that names a profile of the user's, or the bridge's profile in
// its place, and reports whether it did. It refuses the turn if the bridge's profile does not have what
// the named one denies.
func (c *folders) decideUserTurn(name string) (turn turnSandbox, decided bool) {
	t := c.st.Thread
	f, own := parseProfileName(name)
	if own {
		name = f.user
	}
	theirs := own && t != nil && (name == "" || name == t.Profile.User)
	if theirs && f.readOnly && t.Profile.HasReadOnly() {
		return turnSandbox{readOnly: true}, true
	}
	switch {
	case theirs || !namesUserProfile(name):
		return turn, false
	case t == nil || t.Profile.User == "":
		c.refuse(rpc.CodeRefused, "params.permissions", RuleUser, "the thread does not have what the permissions profile "+name+" denies",
			"open another thread with the profile, or name a builtin one")
		return turn, true
	case name != t.Profile.User:
		c.refuse(rpc.CodeRefused, "params.permissions", RuleUser, "the thread has what the permissions profile "+t.Profile.User+" denies, not "+name,
			"open another thread with the profile")
		return turn, true
	}
	to, rule, reason := c.allowedLevel(ReadOnly)
	if t.Profile.UserWrites {
		to, rule, reason = c.allowedLevel(WorkspaceWrite)
	}
	if to == WorkspaceWrite && c.innerRoot() == "" {
		return turnSandbox{policy: sandboxPolicy{level: to, network: t.Profile.UserNetwork}, hasPolicy: true}, true
	}
	c.dropField("permissions", cmp.Or(rule, RuleUser), cmp.Or(reason, "the bridge's profile has what it denies, and lets commands write nothing"))
	return turnSandbox{readOnly: true}, true
}

// requestsWorkspaceWrite reports whether Codex will get a workspace-write sandboxPolicy, because
// the client sent that or more.
func (c *folders) requestsWorkspaceWrite() bool {
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
func levelOfPolicy(object rpc.Value) (Level, bool) {
	if object.Get("type").Is("externalSandbox") {
		return FullAccess, true
	}
	return levelNamed(object.Get("type"), typeNames[:])
}

// sandboxPolicy has the members of a sandboxPolicy that the bridge could read.
type sandboxPolicy struct {
	level      Level
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
func (c *request) hasLooserSandbox(o sandboxPolicy) bool {
	t := c.st.Thread
	has, known := ParseMode(t.Sandbox)
	return known && (has > o.level || has == o.level && (t.Network && !o.network || !t.NoTmpdir && o.noTmpdir || !t.NoSlashTmp && o.noSlashTmp))
}

// decideSandboxPolicy checks a sandboxPolicy. It replaces one whose level is too high, and corrects
// single members of others.
func (c *folders) decideSandboxPolicy(v rpc.Value) (turn turnSandbox) {
	const field = "sandboxPolicy"
	o := sandboxPolicy{external: v.Get("type").Is("externalSandbox")}
	var ok bool
	o.level, ok = levelOfPolicy(v)
	if !ok {
		// Measured with Codex 0.169: it also reads ["dangerFullAccess"] as the object.
		c.setField(field, sandboxPolicy{}.json(), RuleSandbox, FormatValue(v)+" is not one of the four types of sandboxPolicy")
		return turnSandbox{readOnly: true}
	}
	o.read(v)
	to, rule, reason := c.allowedLevel(o.level)
	if root := c.innerRoot(); root != "" && to == WorkspaceWrite {
		if o.level = to; c.hasLooserSandbox(o) {
			c.refuse(rpc.CodeRefused, "params."+field, RuleRoots, "the thread has a looser sandbox, and this one makes "+c.workspace+" writable, where a command could replace the thread's root "+root+" by a link",
				"send the workspace as cwd, or a readOnly sandboxPolicy")
			return turn
		}
		c.dropField(field, RuleRoots, "it makes "+c.workspace+" writable, where a command could replace the thread's root "+root+" by a link; send the workspace as cwd, or open another thread")
		return turn
	}
	turn.readOnly = to == ReadOnly
	if to != o.level {
		// Full access includes the network, so the lower level may have it if the policy allows it. A
		// read-only sandbox in place of workspace-write has none: Codex would restore it when it resumes the
		// thread, but not the workspace-write. See takesDefault.
		o.network = c.p.network && (o.network && o.level != WorkspaceWrite || o.level == FullAccess && !o.external)
		o.level = to
		o = c.putInPlace(o)
		c.setField(field, o.json(), rule, reason)
		if to == WorkspaceWrite {
			turn.policy, turn.hasPolicy = o, true
		}
		return turn
	}
	if o.level == WorkspaceWrite {
		turn.policy, turn.hasPolicy = o, true
	}
	for _, key := range o.invalid {
		c.drop(v, key, field+"."+key, RuleSandbox, "this type of sandboxPolicy has no such member, or it has another form")
	}
	if o.network && !c.p.network {
		to := []byte("false")
		if o.external {
			to = JSONString("restricted")
		}
		c.set(v, "networkAccess", field+".networkAccess", to, RuleNetwork, "the policy forbids the network")
	}
	roots := v.Get("writableRoots")
	if o.level != WorkspaceWrite || roots.Kind() != rpc.Array {
		return turn
	}
	f := c.filterWritable(roots, func(path string) bool {
		return WritableBelowAny(c.allowed(), path) && c.enclosingWritable(path) == "" && !c.isReplaceable(path) && !c.st.OverlapsSensitive(path) && c.otherPolicyFile(path) == "" &&
			(path == c.workspace || !c.st.holdsProgram(path) && (c.workspace == "" || !Within(path, c.workspace)))
	})
	turn.roots = f.kept
	if c.keepInnerRoots("params."+field+".writableRoots", roots, f.kept, o.noTmpdir, o.noSlashTmp); c.err == nil && f.changed {
		c.set(v, "writableRoots", field+".writableRoots", jsonArray(f.kept), RuleRoots, f.reason())
	}
	return turn
}
