package serverrequest

import (
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Terms returns which remembered answers to a request of Codex count.
func Terms(p *policy.Policy, method string, params rpc.Value, st policy.State) policy.AnswerTerms {
	if p.Mode() == config.Off {
		return policy.AnswerTerms{}
	}
	if mustAsk(p, method, params, st) {
		return policy.AnswerTerms{Since: policy.Never}
	}
	m, _ := ruleMatch(p, method, params, st, questionLeaveReason(p, method, params, st))
	return policy.RuleTerms(m, st)
}

// ruleMatch returns the rule for a request of Codex, and where the action would run after an
// acceptance.
func ruleMatch(p *policy.Policy, method string, params rpc.Value, st policy.State, at policy.LeaveReason) (rules.Match, rules.Escalation) {
	reach := rules.EscalationUnknown
	switch method {
	case "item/commandExecution/requestApproval", "execCommandApproval":
		reach = commandEscalation(at, st)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		reach = patchEscalation(at, st)
	case "mcpServer/elicitation/request":
		reach = rules.Sandboxed // a server's tool has no sandbox to leave
	}
	return match(p, p.RulesAt(st), method, params, st, reach), reach
}

// match returns the rule of a set for a request of Codex. set may be nil.
func match(p *policy.Policy, set *rules.Set, method string, params rpc.Value, st policy.State, reach rules.Escalation) rules.Match {
	if set == nil {
		return rules.Match{}
	}
	dirs := p.RuleDirs(st, params)
	switch method {
	case "item/commandExecution/requestApproval":
		text, ok := params.Get("command").Text()
		if !ok && params.Get("networkApprovalContext").Kind() == rpc.Object {
			return rules.Match{} // the question is about a host
		}
		if !ok {
			text = policy.UnreadableLine
		}
		if argv, ok := rules.Split(text); ok {
			return set.Argv(argv, reach, dirs)
		}
		return set.Shell(text, "", reach, dirs)
	case "execCommandApproval":
		return policy.MatchArgv(set, params.Get("command"), reach, dirs)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		return set.Files(st.FileChanges(dirs.Workspace, st.RequestedFiles(method, params)), reach, dirs)
	case "mcpServer/elicitation/request":
		if !params.Get("_meta").Get("codex_approval_kind").Exists() {
			break // the server itself asks
		}
		server, _ := params.Get("serverName").Text()
		tool, _ := params.Get("_meta").Get("tool_name").Text()
		return set.MCP(server, tool)
	case "item/tool/call":
		tool, _ := params.Get("tool").Text()
		return set.Tool(tool)
	}
	return rules.Match{}
}

// mustAsk reports whether a requirement makes Codex ask about the command of its request. Then neither
// an allow rule nor a remembered answer may answer.
func mustAsk(p *policy.Policy, method string, params rpc.Value, st policy.State) bool {
	return match(p, p.RequiredRules(st), method, params, st, rules.EscalationUnknown).Decision == rules.Ask
}
