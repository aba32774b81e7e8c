package policy

import (
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// decideExecCwd checks the cwd of command/exec. No person is asked about such a command, so it must
// run in a thread's folder.
func decideExecCwd(c folders) folders {
	// Measured with Codex 0.169: under workspace-write such a command writes in Codex's start
	// folder, not in its cwd.
	c.workspace = c.st.StartFolder
	v := c.params.Get("cwd")
	if IsUnset(v) {
		return c // Codex's start folder
	}
	text, ok := v.Text()
	if !ok {
		c.refuse(rpc.CodeInvalidParams, "params.cwd", RuleProtocol, "cwd is "+v.Kind().String(), "send the absolute path of a folder")
		return c
	}
	path, err := c.st.ResolveCwd(text)
	switch {
	case err != nil:
		c.refuse(rpc.CodeRefused, "params.cwd", RuleRoots, FormatValue(v)+" can't be resolved: "+err.Error(), "send the absolute path of a readable folder")
	case !WithinAny(c.readableFolders(), path):
		c.refuse(rpc.CodeRefused, "params.cwd", RuleRoots, path+" is "+outsideRoots, "open a thread in that folder first")
	case path != text:
		c.setField("cwd", JSONString(path), RuleRoots, "the bridge sends the canonical path of the folder")
	}
	return c
}

// decideExecSandbox checks the sandbox of command/exec.
//
// Measured with Codex 0.169: an omitted sandbox is the user's sandbox_mode, also
// danger-full-access.
func decideExecSandbox(c folders) (_ folders, turn turnSandbox) {
	object, profile := c.params.Get("sandboxPolicy"), c.params.Get("permissionProfile")
	if c.refuseDeniedExec(object, profile) {
		return c, turn
	}
	writes := !IsUnset(profile) || !IsUnset(object) && !object.Get("type").Is(typeNames[ReadOnly])
	if writes && c.p.maxLevel == WorkspaceWrite && len(c.p.ProfileEntries(c.st, []string{c.workspace}, nil)) > 0 {
		const reason = "the command could write protected files of its folder"
		if profile.Exists() {
			c.dropField("permissionProfile", RuleProtected, reason)
		}
		c.setField("sandboxPolicy", sandboxPolicy{}.json(), RuleProtected, reason)
		return c, turn
	}
	if !IsUnset(profile) {
		asked, ok := levelNamed(profile, builtinProfiles[:])
		to, rule, reason := c.allowedLevel(asked)
		switch {
		case !IsUnset(object):
			level, _ := levelOfPolicy(object)
			if c.dropOtherSandbox("permissionProfile", profile, "sandboxPolicy", level); c.err == nil {
				turn = c.decideSandboxPolicy(object)
			}
			return c, turn
		case !ok:
			to, rule, reason = ReadOnly, RuleSandbox, "the rights of the profile "+FormatValue(profile)+" are unknown"
		case to == asked:
			reason = "the bridge sends a sandboxPolicy, so that Codex's configuration has no effect"
		}
		// Codex does not echo this sandbox, so the bridge sends all of its members.
		c.dropField("permissionProfile", rule, reason)
		c.setField("sandboxPolicy", sandboxPolicy{level: to}.json(), rule, reason)
		return c, turn
	}
	if IsUnset(object) {
		c.setField("sandboxPolicy", sandboxPolicy{}.json(), RuleSandbox, "if omitted, Codex would use its default; send a sandboxPolicy if the command needs more")
		return c, turn
	}
	turn = c.decideSandboxPolicy(object)
	return c, turn
}

// refuseDeniedExec refuses a command beside secrets of the bridge or a permissions profile of the
// user's, and reports whether the decision ends. The bridge has no place to define its own profile for
// such a command, and any other sandbox, also one that the client names, lets it read the secrets and
// what the user's profile denies. As in a thread, full access that both the client and the policy want
// has no denials.
//
// Measured with Codex 0.169: the default profile may be that of a trusted project around the folder
// in which Codex was started.
func (c *request) refuseDeniedExec(object, profile rpc.Value) (ends bool) {
	if c.p.maxLevel == FullAccess && object.Get("type").Is(typeNames[FullAccess]) {
		return false
	}
	if len(c.st.Secrets) > 0 {
		c.refuse(rpc.CodeRefused, "params", RuleSecrets, "the bridge can't hide "+c.st.Secrets[0]+", which has a secret of the bridge, from this command",
			"run it in a turn of a thread, which hides the file, or keep the secret elsewhere (see \"secrets\" in codex-bridge doctor)")
		return true
	}
	name, _ := profile.Text()
	if !namesUserProfile(name) {
		if c.st.Defaults == nil {
			c.wantConfiguration(c.st.StartFolder)
			return true
		}
		name = c.st.Defaults.userProfileName()
	}
	if !namesUserProfile(name) {
		return false
	}
	c.refuse(rpc.CodeRefused, "params", RuleUser, "the bridge can't keep what the permissions profile "+name+" of "+originUser+" denies for this command",
		"run it in a turn of a thread, which keeps the profile, or remove default_permissions from Codex's configuration")
	return true
}

// allowedEnv are the environment variables that a client may set for command/exec: those of
// terminal and language.
//
// Measured with Codex 0.169: PATH chooses the bwrap for Codex's sandbox, so a command ran outside
// it. The loader's variables and CODEX_HOME have similar effects.
var allowedEnv = []string{
	"TERM", "COLORTERM", "COLUMNS", "LINES", "LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI",
}

// decideExecEnv checks the environment of command/exec. Under danger-full-access there is no
// sandbox to protect.
func (c *request) decideExecEnv() {
	v := c.params.Get("env")
	if IsUnset(v) || c.p.maxLevel == FullAccess {
		return
	}
	if v.Kind() != rpc.Object {
		c.dropField("env", RuleSandbox, "env is "+v.Kind().String()+", not an object")
		return
	}
	for name := range v.Members() {
		if slices.Contains(allowedEnv, name) || strings.HasPrefix(name, "LC_") {
			continue
		}
		c.refuse(rpc.CodeRefused, "params.env."+name, RuleSandbox,
			"an environment variable could change the program that Codex uses as its sandbox",
			"remove it, or set it in the command: [\"env\", \"NAME=value\", …]")
		return
	}
}
