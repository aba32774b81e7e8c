package policy

import (
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// AnswerTerms returns which remembered answers to a request of Codex count.
func (p *Policy) AnswerTerms(method string, params rpc.Value, st State) AnswerTerms {
	if p.mode == config.Off {
		return AnswerTerms{}
	}
	if p.mustAsk(method, params, st) {
		return AnswerTerms{Since: never}
	}
	m, _ := p.ruleMatch(method, params, st, p.questionLeaveReason(method, params, st))
	return answerTerms(m, st)
}

// ruleMatch returns the rule for a request of Codex, and where the action would run after an
// acceptance.
func (p *Policy) ruleMatch(method string, params rpc.Value, st State, at leaveReason) (rules.Match, rules.Escalation) {
	reach := rules.EscalationUnknown
	switch method {
	case "item/commandExecution/requestApproval", "execCommandApproval":
		reach = p.commandEscalation(at, st)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		reach = p.patchEscalation(at, st)
	case "mcpServer/elicitation/request":
		reach = rules.Sandboxed // a server's tool has no sandbox to leave
	}
	return p.match(p.rulesAt(st), method, params, st, reach), reach
}

// match returns the rule of a set for a request of Codex. set may be nil.
func (p *Policy) match(set *rules.Set, method string, params rpc.Value, st State, reach rules.Escalation) rules.Match {
	if set == nil {
		return rules.Match{}
	}
	dirs := p.ruleDirs(st, params)
	switch method {
	case "item/commandExecution/requestApproval":
		text, ok := params.Get("command").Text()
		if !ok && params.Get("networkApprovalContext").Kind() == rpc.Object {
			return rules.Match{} // the question is about a host
		}
		if !ok {
			text = unreadableLine
		}
		if argv, ok := rules.Split(text); ok {
			return set.Argv(argv, reach, dirs)
		}
		return set.Shell(text, "", reach, dirs)
	case "execCommandApproval":
		return matchArgv(set, params.Get("command"), reach, dirs)
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
func (p *Policy) mustAsk(method string, params rpc.Value, st State) bool {
	return p.match(p.requiredRules(st), method, params, st, rules.EscalationUnknown).Decision == rules.Ask
}
