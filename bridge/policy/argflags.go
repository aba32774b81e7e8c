package policy

import "codex-bridge.example/bridge/argv"

// argRules has a function for each flag of app-server, and of exec except execFlags.
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
	"--approve-for-me": func(c *argsDecider, item argv.Item) {
		if c.line.Proxy { // the terminal interface sends the values with each thread
			c.refuse(c.flagText(item), ruleReviewers, "without it the approval policy and sandbox of Codex's configuration would count", "remove it; send approvalsReviewer, approvalPolicy and sandbox with each thread")
		}
	},
	"--search": func(c *argsDecider, item argv.Item) { c.decideKey(item, "web_search", `"live"`) },
	"--oss":    func(c *argsDecider, item argv.Item) { c.decideKey(item, "model_provider", `"oss"`) },
	"--local-provider": func(c *argsDecider, item argv.Item) {
		c.decideKey(item, "oss_provider", string(jsonString(item.Value)))
	},
	"--model": func(c *argsDecider, item argv.Item) { c.decideKey(item, "model", string(jsonString(item.Value))) },

	"--sandbox":          (*argsDecider).decideSandbox,
	"--ask-for-approval": (*argsDecider).decideApproval,

	"--cd":                    dropArg("a thread's cwd names the folder", "send the folder as cwd of thread/start"),
	"--add-dir":               dropArg("a thread's runtimeWorkspaceRoots name further folders", "send the folder among runtimeWorkspaceRoots of thread/start"),
	"--image":                 dropArg(""+argv.AppServer+" takes no prompt", "remove it"),
	"--code-mode-host":        dropArg("Codex would run code in a host that the client chose", "remove it; Codex starts its own host"),
	"--cloud-skills-snapshot": dropArg("Codex would read skills from a file that the client chose", "remove it"),
	"--mcp-launch-cwd":        dropArg("servers would start in a folder that the client chose", "remove it; a server's cwd in Codex's configuration names its folder"),
	"--plugin-mcp-launch-cwd": dropArg("servers would start in a folder that the client chose", "remove it; a server's cwd in Codex's configuration names its folder"),

	"--profile":               refuseArg("a profile is a whole configuration", "remove it; set single keys with -c"),
	"--remote":                refuseArg("it names an app-server without this policy", "remove it"),
	"--remote-auth-token-env": refuseArg("it names an app-server without this policy", "remove it"),
	"--remote-control":        refuseArg("a second client could control Codex without this policy", "remove it"),
	"--managed-daemon":        refuseArg("a second client could control Codex without this policy", "remove it"),
	"--worktree":              refuseArg("a thread's cwd names the folder", "remove it"),
	"--full-auto":             refuseArg("it disables Codex's protection", "remove it"),
	"--startup-sign-out":      refuseArg("it signs out", "remove it, or run codex logout"),

	"--trust":              refuseArg("it would trust the project's servers, hooks and rules for good", "remove it, or trust the project in Codex's configuration"),
	"--ignore-user-config": refuseArg("Codex's app-server always reads it", "remove it; set single keys with -c"),
	"--ignore-rules":       refuseArg("it drops rules for commands, and Codex's app-server always reads them", "remove it"),

	"--strict-config":             passArg,
	"--no-alt-screen":             passArg,
	"--no-daemon":                 passArg,
	"--stdio":                     passArg,
	"--listen":                    passArg, // stdio://; other values do not start the proxy
	"--analytics-default-enabled": passArg,
	"--startup-client-info":       passArg,
	"--ws-auth":                   passArg, // without --listen ws://… these have no effect
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
	c.refuse(c.flagText(item), ruleMode, "the policy has no rule for this flag", "remove it")
}

// decideSandbox drops a looser sandbox than the policy's. Threads get no more than that without it, too.
func (c *argsDecider) decideSandbox(item argv.Item) {
	l, ok := parseMode(item.Value)
	if !ok {
		c.refuse(c.flagText(item)+" "+argText(item.Value), ruleSandbox, "it is not the name of a sandbox", "write read-only, workspace-write or danger-full-access")
		return
	}
	if l > c.p.maxLevel {
		c.drop(item, c.flagText(item)+" "+argText(item.Value), ruleSandbox, "it is more than "+c.p.maxLevel.String(), "choose that, or less")
	}
}

// decideApproval drops an approval policy beside app-server, where it has no effect. Codex's terminal
// interface sends it with each thread, where the bridge decides about it.
func (c *argsDecider) decideApproval(item argv.Item) {
	if approvalRank(parseApproval(jsonString(item.Value))) < 0 {
		c.refuse(c.flagText(item)+" "+argText(item.Value), ruleApproval, "it is not the name of an approval policy", "write on-request or never")
		return
	}
	if c.line.Proxy && !c.p.AcceptsApprovalName(item.Value) {
		c.drop(item, c.flagText(item)+" "+argText(item.Value), ruleApproval, "it is not in "+c.p.approvalList(), "choose an allowed value")
	}
}
