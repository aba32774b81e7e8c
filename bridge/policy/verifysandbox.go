package policy

import (
	"slices"

	"codex-bridge.example/rpc"
)

func (e *verifier) checkSandbox() {
	p, v, l := e.p, e.sandbox, echoedLevel(e.sandbox)
	if l > p.maxLevel {
		e.failValue(e.sandboxName, ruleSandbox, "the sandbox is more than "+p.maxLevel.String(), v)
		return
	}
	if l == FullAccess {
		return
	}
	if open := v.Get("networkAccess"); !p.network && open.Exists() {
		if on, ok := open.Bool(); on || !ok {
			e.failValue(e.sandboxName+".networkAccess", ruleNetwork, "the sandbox allows the network", v)
		}
	}
	if l != WorkspaceWrite {
		return
	}
	// Measured with Codex 0.169: the cwd is writable without being listed.
	if !writableBelowAny(e.allowed, e.folder) || !writableBelowAny(e.allowed, e.workspace) {
		e.failValue(e.sandboxName, ruleRoots, "the working folder "+e.folder+" is writable, but is in none of the writable roots", v)
	}
	if p.isInProtected(e.folder) || p.isInProtected(e.workspace) {
		e.failValue(e.sandboxName, ruleProtected, "the working folder "+e.folder+" is writable and is in, or leads to, one of policy.protected_paths", v)
	}
	e.checkWritable(v.Get("writableRoots"))
}

// checkWritable checks the echoed writable roots. Measured with Codex 0.169: a thread with its own
// workspace roots lists /tmp among them if excludeSlashTmp is false. So temporary folders pass.
func (e *verifier) checkWritable(v rpc.Value) {
	if v.Kind() != rpc.Array {
		e.failValue(e.sandboxName+".writableRoots", ruleRoots, "the bridge can't read the writable roots", v)
		return
	}
	for r := range v.Elements() {
		text := textOf(r)
		path, err := e.st.Canonical(text)
		if err == nil && path != e.workspace && Within(path, e.workspace) && !slices.Contains(e.expectedProfile.Roots, path) && !e.isTemporary(text, path) {
			e.failValue(e.sandboxName+".writableRoots", ruleRoots, formatEchoed(r)+" contains the workspace "+e.workspace+", so that Codex would not protect the workspace's files", v)
			return
		}
		if err != nil || (!writableBelowAny(e.allowed, path) || e.st.overlapsSensitive(path)) && !e.isTemporary(text, path) {
			e.failValue(e.sandboxName+".writableRoots", ruleRoots, formatEchoed(r)+" is writable, but is in none of the writable roots", v)
			return
		}
		if e.st.isInPath(path) || e.p.isProtected(e.allowed, path) || !e.expectedProfile.Defined && e.p.leadsToProtected(path) && !slices.Contains(e.allowed, path) { // the profile lists such folders itself
			e.failValue(e.sandboxName+".writableRoots", ruleProtected, formatEchoed(r)+" is writable, but is in a folder of programs or in one of policy.protected_paths", v)
			return
		}
	}
}

func (e *verifier) isTemporary(text, path string) bool {
	return text == "/tmp" || slices.ContainsFunc(e.st.Temps, func(t TempFolder) bool { return Within(t.Path, path) })
}

// checkProfile refuses a profile of the user, whose rights are unknown, regardless of the echoed
// sandbox.
func (e *verifier) checkProfile() {
	if IsUnset(e.profile) {
		return
	}
	id, _ := e.profile.Get("id").Text()
	l, ok := builtinProfileLevel(id)
	if e.hasOwnProfile() {
		return
	}
	if !ok || !IsUnset(e.profile.Get("extends")) {
		e.failValue("activePermissionProfile", ruleSandbox, "the profile's rights are unknown", e.profile)
	} else if l > e.p.maxLevel {
		e.failValue("activePermissionProfile", ruleSandbox, "the profile is more than "+e.p.maxLevel.String(), e.profile)
	}
}

// checkRoots checks that folders are in the workspace or the writable roots, and that none contains
// another one.
func (e *verifier) checkRoots(field string, v rpc.Value) {
	if IsUnset(v) {
		return
	}
	if v.Kind() != rpc.Array {
		e.failValue(field, ruleRoots, "the bridge can't read it", v)
		return
	}
	var all []string
	for r := range v.Elements() {
		path, err := e.st.Canonical(textOf(r))
		if err != nil || !e.reachable(path) {
			e.failValue(field, ruleRoots, formatEchoed(r)+" is outside the workspace and the writable roots", v)
			return
		}
		other := findNested(all, path)
		if other == "" && path != e.workspace {
			other = findNested(e.st.Writable, path)
			if t := e.st.Thread; t != nil && slices.Contains(t.Writable, path) && WritableBelow(path, other) {
				other = "" // its commands could write the folder before
			}
			if echoedLevel(e.sandbox) == ReadOnly && e.p.mayStayInside(&e.st, e.allowed, e.workspace, path) {
				other = ""
			}
		}
		if other != "" {
			e.failValue(field, ruleRoots, formatEchoed(r)+" is in "+other+" or contains it, which commands could write, and a command could replace the inner folder by a link", v)
			return
		}
		all = append(all, path)
	}
}

// checkEnvironments checks the environments of the settings, which give later turns their cwd.
func (e *verifier) checkEnvironments(v rpc.Value) {
	if IsUnset(v) {
		return
	}
	if v.Kind() != rpc.Array {
		e.failValue("environments", ruleRoots, "the bridge can't read them", v)
		return
	}
	for env := range v.Elements() {
		text, _ := env.Get("cwd").Text()
		path, err := e.st.Canonical(text)
		if !env.Get("environmentId").Is("local") || err != nil || !e.reachable(path) {
			e.failValue("environments", ruleRoots, "an environment is outside the workspace and the writable roots", v)
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
	text := textOf(folder)
	path, err := e.st.Canonical(text)
	if err != nil || e.isTemporary(text, path) || slices.Contains(e.expectedProfile.Roots, path) {
		return // another check has the error
	}
	if file := e.st.otherPolicyFile(path, e.workspace); file != "" {
		e.failValue(field, "policy", path+" is under the policy file "+file+", which does not govern this thread; send the cwd of the thread's first workspace, or open a thread there", folder)
	}
}

// hasOwnProfile reports whether the echoed profile is one of the thread's overlay.
func (e *verifier) hasOwnProfile() bool {
	return e.expectedProfile.gives(e.profile, echoedLevel(e.sandbox), e.p.network)
}
