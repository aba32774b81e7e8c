package policy

import (
	"slices"

	"codex-bridge/bridge/argv"
)

// argMode is the rule of what no key of the policy speaks of.
const argMode = "policy.mode"

// argRules say what becomes of each flag that is an app-server's. Measured on
// 0.169.0: --config, --enable, --disable and --approve-for-me reach its
// configuration; --code-mode-host, --cloud-skills-snapshot, --remote-control and
// --managed-daemon do what they say; it refuses --profile, --remote and
// --worktree; the others that stand before the command have no effect. Those are
// judged nevertheless, by what they ask for: a later codex may heed them.
var argRules = map[string]func(c *argsCall, item argv.Item){
	"--config":  (*argsCall).config,
	"--enable":  func(c *argsCall, item argv.Item) { c.feature(item, "true") },
	"--disable": func(c *argsCall, item argv.Item) { c.feature(item, "false") },
	// It sets approvals_reviewer, approval_policy and sandbox_mode (measured).
	"--approve-for-me": func(c *argsCall, item argv.Item) { c.key(item, "approvals_reviewer", `"auto_review"`) },
	"--search":         func(c *argsCall, item argv.Item) { c.key(item, "web_search", `"live"`) },
	"--oss":            func(c *argsCall, item argv.Item) { c.key(item, "model_provider", `"oss"`) },
	"--local-provider": func(c *argsCall, item argv.Item) { c.key(item, "oss_provider", string(quote(item.Value))) },
	"--model":          func(c *argsCall, item argv.Item) { c.key(item, "model", string(quote(item.Value))) },

	"--sandbox":          (*argsCall).sandbox,
	"--ask-for-approval": (*argsCall).approval,

	"--cd":                    argOut("the folder is what a thread names as its cwd", "name the folder in thread/start"),
	"--add-dir":               argOut("what may be written beside the workspace is policy.writable_roots' to say", "name the folder there"),
	"--image":                 argOut("beside "+argv.AppServer+" there is no prompt for it to go with", "leave it out"),
	"--code-mode-host":        argOut("code would run in a host of the client's choice", "leave it out; codex starts a host of its own"),
	"--cloud-skills-snapshot": argOut("skills would come from a file of the client's choice", "leave it out"),

	"--profile":               argRefused("a profile is a whole configuration", "leave it out; name what you need with -c"),
	"--remote":                argRefused("it names another app-server, past the policy", "leave it out"),
	"--remote-auth-token-env": argRefused("it names another app-server, past the policy", "leave it out"),
	"--remote-control":        argRefused("a second client would steer codex past the policy", "leave it out"),
	"--managed-daemon":        argRefused("a second client would steer codex past the policy", "leave it out"),
	"--worktree":              argRefused("the folder is what a thread names as its cwd", "leave it out"),
	"--full-auto":             argRefused("it switches codex's safety off", "leave it out"),
	"--startup-sign-out":      argRefused("it signs out", "leave it out, or use codex logout"),

	"--strict-config":             argPass,
	"--no-alt-screen":             argPass,
	"--no-daemon":                 argPass,
	"--stdio":                     argPass,
	"--listen":                    argPass, // stdio://, or it were not the proxy's
	"--analytics-default-enabled": argPass,
	"--startup-client-info":       argPass,
	"--ws-auth":                   argPass, // without --listen ws://… they open nothing
	"--ws-token-file":             argPass,
	"--ws-token-sha256":           argPass,
	"--ws-shared-secret-file":     argPass,
	"--ws-issuer":                 argPass,
	"--ws-audience":               argPass,
	"--ws-max-clock-skew-seconds": argPass,
}

func argPass(*argsCall, argv.Item) {}

func argOut(reason, mend string) func(*argsCall, argv.Item) {
	return func(c *argsCall, item argv.Item) { c.drop(item, c.shown(item), argMode, reason, mend) }
}

func argRefused(reason, mend string) func(*argsCall, argv.Item) {
	return func(c *argsCall, item argv.Item) { c.refuse(c.shown(item), argMode, reason, mend) }
}

// flag judges one flag that was understood. One without a row is refused, so that
// a flag that argv learns is not passed by forgetting it here.
func (c *argsCall) flag(item argv.Item) {
	if judge := argRules[item.Name]; judge != nil {
		judge(c, item)
		return
	}
	c.refuse(c.shown(item), argMode, "no rule says what this flag may do", "leave it out, or put it into codex.args, which no rule holds")
}

func (c *argsCall) sandbox(item argv.Item) {
	if l, ok := levelOf(item.Value); !ok || l > c.p.limit {
		c.drop(item, c.shown(item)+" "+argText(item.Value), ruleSandbox, "it is more than "+c.p.limit.String(), "ask for that, or for less")
	}
}

func (c *argsCall) approval(item argv.Item) {
	if !slices.Contains(c.p.approvals, item.Value) {
		c.drop(item, c.shown(item)+" "+argText(item.Value), ruleApproval, "it is not in "+c.p.approvalList(), "ask for one of those")
	}
}
