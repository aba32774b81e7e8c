package policy

import "codex-bridge.example/bridge/argv"

// flagRules has the rules that the table of flags in package methods names.
var flagRules = map[string]func(c *argsDecider, item argv.Item){
	"any":     func(*argsDecider, argv.Item) {},
	"config":  (*argsDecider).decideConfig,
	"enable":  func(c *argsDecider, item argv.Item) { c.decideFeature(item, "true") },
	"disable": func(c *argsDecider, item argv.Item) { c.decideFeature(item, "false") },
	// Measured with Codex 0.169: it sets approvals_reviewer, approval_policy and sandbox_mode.
	"approve-for-me": func(c *argsDecider, item argv.Item) {
		if c.line.Proxy { // the terminal interface sends the values with each thread
			c.refuse(c.flagText(item), RuleReviewers, "without it the approval policy and sandbox of Codex's configuration would count", "remove it; send approvalsReviewer, approvalPolicy and sandbox with each thread")
		}
	},
	"search": func(c *argsDecider, item argv.Item) { c.decideKey(item, "web_search", `"live"`) },
	"oss":    func(c *argsDecider, item argv.Item) { c.decideKey(item, "model_provider", `"oss"`) },
	"local-provider": func(c *argsDecider, item argv.Item) {
		c.decideKey(item, "oss_provider", string(JSONString(item.Value)))
	},
	"model":    func(c *argsDecider, item argv.Item) { c.decideKey(item, "model", string(JSONString(item.Value))) },
	"sandbox":  (*argsDecider).decideSandbox,
	"approval": (*argsDecider).decideApproval,
}

// decideFlag checks a known flag. It refuses a flag that has no rule.
func (c *argsDecider) decideFlag(item argv.Item) {
	row := item.Flag
	switch {
	case row == nil:
	case row.Rule == "drop":
		c.drop(item, c.flagText(item), RuleMode, row.Reason, row.Hint)
		return
	case row.Rule == "refuse":
		c.refuse(c.flagText(item), RuleMode, row.Reason, row.Hint)
		return
	case flagRules[row.Rule] != nil:
		flagRules[row.Rule](c, item)
		return
	}
	c.refuse(c.flagText(item), RuleMode, "the policy has no rule for this flag", "remove it")
}

// decideSandbox drops a looser sandbox than the policy's. Threads get no more than that without it, too.
func (c *argsDecider) decideSandbox(item argv.Item) {
	l, ok := ParseMode(item.Value)
	if !ok {
		c.refuse(c.flagText(item)+" "+ArgText(item.Value), RuleSandbox, "it is not the name of a sandbox", "write read-only, workspace-write or danger-full-access")
		return
	}
	if l > c.p.maxLevel {
		c.drop(item, c.flagText(item)+" "+ArgText(item.Value), RuleSandbox, "it is more than "+c.p.maxLevel.String(), "choose that, or less")
	}
}

// decideApproval drops an approval policy beside app-server, where it has no effect. Codex's terminal
// interface sends it with each thread, where the bridge decides about it.
func (c *argsDecider) decideApproval(item argv.Item) {
	if approvalRank(parseApproval(JSONString(item.Value))) < 0 {
		c.refuse(c.flagText(item)+" "+ArgText(item.Value), RuleApproval, "it is not the name of an approval policy", "write on-request or never")
		return
	}
	if c.line.Proxy && !c.p.AcceptsApprovalName(item.Value) {
		c.drop(item, c.flagText(item)+" "+ArgText(item.Value), RuleApproval, "it is not in "+c.p.ApprovalList(), "choose an allowed value")
	}
}
