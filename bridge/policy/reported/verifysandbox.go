package reported

import (
	"slices"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

func (e *verifier) checkSandbox() {
	p, v, l := e.p, e.sandbox, policy.EchoedLevel(e.sandbox)
	if l > p.MaxLevel() {
		e.failValue(e.sandboxName, policy.RuleSandbox, "the sandbox is more than "+p.MaxLevel().String(), v)
		return
	}
	if l == policy.FullAccess {
		return
	}
	if open := v.Get("networkAccess"); !p.AllowsNetwork() && open.Exists() {
		if on, ok := open.Bool(); on || !ok {
			e.failValue(e.sandboxName+".networkAccess", policy.RuleNetwork, "the sandbox allows the network", v)
		}
	}
	if l != policy.WorkspaceWrite {
		return
	}
	// Measured with Codex 0.169: the cwd is writable without being listed.
	if !policy.WritableBelowAny(e.allowed, e.folder) || !policy.WritableBelowAny(e.allowed, e.workspace) {
		e.failValue(e.sandboxName, policy.RuleRoots, "the working folder "+e.folder+" is writable, but is in none of the writable roots", v)
	}
	if p.IsInProtected(e.folder) || p.IsInProtected(e.workspace) {
		e.failValue(e.sandboxName, policy.RuleProtected, "the working folder "+e.folder+" is writable and is in, or leads to, one of policy.protected_paths", v)
	}
	e.checkWritable(v.Get("writableRoots"))
}

// checkWritable checks the echoed writable roots. Measured with Codex 0.169: a thread with its own
// workspace roots lists /tmp among them if excludeSlashTmp is false. So temporary folders pass.
func (e *verifier) checkWritable(v rpc.Value) {
	if v.Kind() != rpc.Array {
		e.failValue(e.sandboxName+".writableRoots", policy.RuleRoots, "the bridge can't read the writable roots", v)
		return
	}
	for r := range v.Elements() {
		text := policy.TextOf(r)
		path, err := e.st.Canonical(text)
		if err == nil && path != e.workspace && policy.Within(path, e.workspace) && !slices.Contains(e.expectedProfile.Roots, path) && !e.isTemporary(text, path) {
			e.failValue(e.sandboxName+".writableRoots", policy.RuleRoots, policy.FormatEchoed(r)+" contains the workspace "+e.workspace+", so that Codex would not protect the workspace's files", v)
			return
		}
		if err != nil || (!policy.WritableBelowAny(e.allowed, path) || e.st.OverlapsSensitive(path)) && !e.isTemporary(text, path) {
			e.failValue(e.sandboxName+".writableRoots", policy.RuleRoots, policy.FormatEchoed(r)+" is writable, but is in none of the writable roots", v)
			return
		}
		if e.st.IsInPath(path) || e.p.IsProtected(e.allowed, path) || !e.expectedProfile.Defined && e.p.LeadsToProtected(path) && !slices.Contains(e.allowed, path) { // the profile lists such folders itself
			e.failValue(e.sandboxName+".writableRoots", policy.RuleProtected, policy.FormatEchoed(r)+" is writable, but is in a folder of programs or in one of policy.protected_paths", v)
			return
		}
	}
}

func (e *verifier) isTemporary(text, path string) bool {
	return text == "/tmp" || slices.ContainsFunc(e.st.Temps, func(t policy.TempFolder) bool { return policy.Within(t.Path, path) })
}

// checkProfile refuses a profile of the user, whose rights are unknown, regardless of the echoed
// sandbox.
func (e *verifier) checkProfile() {
	if policy.IsUnset(e.profile) {
		return
	}
	id, _ := e.profile.Get("id").Text()
	l, ok := policy.BuiltinProfileLevel(id)
	if e.hasOwnProfile() {
		return
	}
	if !ok || !policy.IsUnset(e.profile.Get("extends")) {
		e.failValue("activePermissionProfile", policy.RuleSandbox, "the profile's rights are unknown", e.profile)
	} else if l > e.p.MaxLevel() {
		e.failValue("activePermissionProfile", policy.RuleSandbox, "the profile is more than "+e.p.MaxLevel().String(), e.profile)
	}
}

// checkRoots checks that folders are in the workspace or the writable roots, and that none contains
// another one.
func (e *verifier) checkRoots(field string, v rpc.Value) {
	if policy.IsUnset(v) {
		return
	}
	if v.Kind() != rpc.Array {
		e.failValue(field, policy.RuleRoots, "the bridge can't read it", v)
		return
	}
	var all []string
	for r := range v.Elements() {
		path, err := e.st.Canonical(policy.TextOf(r))
		if err != nil || !e.reachable(path) {
			e.failValue(field, policy.RuleRoots, policy.FormatEchoed(r)+" is outside the workspace and the writable roots", v)
			return
		}
		other := policy.FindNested(all, path)
		if other == "" && path != e.workspace {
			other = policy.FindNested(e.st.Writable, path)
			if t := e.st.Thread; t != nil && slices.Contains(t.Writable, path) && policy.WritableBelow(path, other) {
				other = "" // its commands could write the folder before
			}
			if policy.EchoedLevel(e.sandbox) == policy.ReadOnly && e.p.MayStayInside(&e.st, e.allowed, e.workspace, path) {
				other = ""
			}
		}
		if other != "" {
			e.failValue(field, policy.RuleRoots, policy.FormatEchoed(r)+" is in "+other+" or contains it, which commands could write, and a command could replace the inner folder by a link", v)
			return
		}
		all = append(all, path)
	}
}

// checkEnvironments checks the environments of the settings, which give later turns their cwd.
func (e *verifier) checkEnvironments(v rpc.Value) {
	if policy.IsUnset(v) {
		return
	}
	if v.Kind() != rpc.Array {
		e.failValue("environments", policy.RuleRoots, "the bridge can't read them", v)
		return
	}
	for env := range v.Elements() {
		text, _ := env.Get("cwd").Text()
		path, err := e.st.Canonical(text)
		if !env.Get("environmentId").Is("local") || err != nil || !e.reachable(path) {
			e.failValue("environments", policy.RuleRoots, "an environment is outside the workspace and the writable roots", v)
			return
		}
		if e.mayWriteRoots() {
			e.checkRoots("environments", env.Get("runtimeWorkspaceRoots"))
		}
	}
}

// checkPolicyFiles checks that no policy file governs a folder of the thread but not the thread.
//
// Measured with Codex 0.169: a thread that Codex restores from its file works where its last turn
// did, with that turn's roots. They may include the first workspace, whose policy file does not
// govern the thread.
func (e *verifier) checkPolicyFiles(environments rpc.Value) {
	e.checkPolicyFile("cwd", e.cwd)
	all := func(field string, folders rpc.Value) {
		for folder := range folders.Elements() {
			e.checkPolicyFile(field, folder)
		}
	}
	all("runtimeWorkspaceRoots", e.roots)
	all(e.sandboxName+".writableRoots", e.sandbox.Get("writableRoots"))
	for env := range environments.Elements() {
		e.checkPolicyFile("thread.environments", env.Get("cwd"))
		all("thread.environments", env.Get("runtimeWorkspaceRoots"))
	}
}

func (e *verifier) checkPolicyFile(field string, folder rpc.Value) {
	text := policy.TextOf(folder)
	path, err := e.st.Canonical(text)
	if err != nil || e.isTemporary(text, path) || slices.Contains(e.expectedProfile.Roots, path) {
		return // another check has the error
	}
	if file := e.st.OtherPolicyFile(path, e.workspace); file != "" {
		e.failValue(field, "policy", path+" is under the policy file "+file+", which does not govern this thread; send the cwd of the thread's first workspace, or open a thread there", folder)
	}
}

// hasOwnProfile reports whether the echoed profile is one of the thread's overlay.
func (e *verifier) hasOwnProfile() bool {
	return e.expectedProfile.Gives(e.profile, policy.EchoedLevel(e.sandbox), e.p.AllowsNetwork())
}
