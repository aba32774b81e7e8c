package policy

import (
	"slices"

	"codex-bridge/bridge/argv"
)

// argRules has a function for each flag of app-server.
//
// Measured with Codex 0.169: --config, --enable, --disable and --approve-for-me reach the
// configuration. --code-mode-host, --cloud-skills-snapshot, --remote-control and --managed-daemon
// have their effect. Codex refuses --profile, --remote and --worktree. Other flags before the
// command have no effect, but a later Codex may read them, so the bridge checks them too.
var argRules = map[string]func(c *argsDecider, item argv.Item){
	"--config":  (*argsDecider).decideConfig,
	"--enable":  func(c *argsDecider, item argv.Item) { c.decideFeature(item, "true") },
	"--disable": func(c *argsDecider, item argv.Item) { c.decideFeature(item, "false") },
	// Measured with Codex 0.169: it sets approvals_reviewer, approval_policy and sandbox_mode.
	"--approve-for-me": func(c *argsDecider, item argv.Item) { c.decideKey(item, "approvals_reviewer", `"auto_review"`) },
	"--search":         func(c *argsDecider, item argv.Item) { c.decideKey(item, "web_search", `"live"`) },
	"--oss":            func(c *argsDecider, item argv.Item) { c.decideKey(item, "model_provider", `"oss"`) },
	"--local-provider": func(c *argsDecider, item argv.Item) {
		c.decideKey(item, "oss_provider", string(jsonString(item.Value)))
	},
	"--model": func(c *argsDecider, item argv.Item) { c.decideKey(item, "model", string(jsonString(item.Value))) },

	"--sandbox":          (*argsDecider).decideSandbox,
	"--ask-for-approval": (*argsDecider).decideApproval,

	"--cd":                    dropArg("the folder is what a thread names as its cwd", "name the folder in thread/start"),
	"--add-dir":               dropArg("what may be written beside the workspace is policy.writable_roots' to say", "name the folder there"),
	"--image":                 dropArg("beside "+argv.AppServer+" there is no prompt for it to go with", "leave it out"),
	"--code-mode-host":        dropArg("code would run in a host of the client's choice", "leave it out; codex starts a host of its own"),
	"--cloud-skills-snapshot": dropArg("skills would come from a file of the client's choice", "leave it out"),

	"--profile":               refuseArg("a profile is a whole configuration", "leave it out; name what you need with -c"),
	"--remote":                refuseArg("it names another app-server, past the policy", "leave it out"),
	"--remote-auth-token-env": refuseArg("it names another app-server, past the policy", "leave it out"),
	"--remote-control":        refuseArg("a second client would steer codex past the policy", "leave it out"),
	"--managed-daemon":        refuseArg("a second client would steer codex past the policy", "leave it out"),
	"--worktree":              refuseArg("the folder is what a thread names as its cwd", "leave it out"),
	"--full-auto":             refuseArg("it switches codex's safety off", "leave it out"),
	"--startup-sign-out":      refuseArg("it signs out", "leave it out, or use codex logout"),

	"--strict-config":             passArg,
	"--no-alt-screen":             passArg,
	"--no-daemon":                 passArg,
	"--stdio":                     passArg,
	"--listen":                    passArg, // stdio://, or it were not the proxy's
	"--analytics-default-enabled": passArg,
	"--startup-client-info":       passArg,
	"--ws-auth":                   passArg, // without --listen ws://… they open nothing
	"--ws-token-file":             passArg,
	"--ws-token-sha256":           passArg,
	"--ws-shared-secret-file":     passArg,
	"--ws-issuer":                 passArg,
	"--ws-audience":               passArg,
	"--ws-max-clock-skew-seconds": passArg,
}

func passArg(*argsDecider, argv.Item) {}

func dropArg(reason, hint string) func(*argsDecider, argv.Item) {
	return func(c *argsDecider, item argv.Item) { c.drop(item, c.flagText(item), ruleMode, reason, hint) }
}

func refuseArg(reason, hint string) func(*argsDecider, argv.Item) {
	return func(c *argsDecider, item argv.Item) { c.refuse(c.flagText(item), ruleMode, reason, hint) }
}

// decideFlag checks a known flag. It refuses a flag that argRules does not have, so that a new flag
// of argv can't pass unchecked.
func (c *argsDecider) decideFlag(item argv.Item) {
	if judge := argRules[item.Name]; judge != nil {
		judge(c, item)
		return
	}
	c.refuse(c.flagText(item), ruleMode, "no rule says what this flag may do", "leave it out, or put it into codex.args, which no rule holds")
}

func (c *argsDecider) decideSandbox(item argv.Item) {
	if l, ok := parseMode(item.Value); !ok || l > c.p.maxLevel {
		c.drop(item, c.flagText(item)+" "+argText(item.Value), ruleSandbox, "it is more than "+c.p.maxLevel.String(), "ask for that, or for less")
	}
}

func (c *argsDecider) decideApproval(item argv.Item) {
	if !slices.Contains(c.p.approvals, item.Value) {
		c.drop(item, c.flagText(item)+" "+argText(item.Value), ruleApproval, "it is not in "+c.p.approvalList(), "ask for one of those")
	}
}
