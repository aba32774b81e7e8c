package policy

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

const ruleRule = "policy.rule"

// unreadableLine stands for a command line that the bridge can't read. Every deny or ask rule
// matches it.
const unreadableLine = rules.UnknownLine

// HasRules reports whether the policy has rules.
func (p *Policy) HasRules() bool { return p.rules != nil }

// rulesAt returns the rules as they count now. The policy has rules.
func (p *Policy) rulesAt(st State) *rules.Set {
	if st.Now == nil {
		return p.rules.At(time.Time{})
	}
	return p.rules.At(st.Now())
}

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
	return p.match(method, params, st, reach), reach
}

func (p *Policy) match(method string, params rpc.Value, st State, reach rules.Escalation) rules.Match {
	if p.rules == nil {
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
			return p.rulesAt(st).Argv(argv, reach, dirs)
		}
		return p.rulesAt(st).Shell(text, "", reach, dirs)
	case "execCommandApproval":
		return p.matchArgv(params.Get("command"), reach, dirs, st)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		return p.rulesAt(st).Files(st.fileChanges(dirs.Workspace, st.requestedFiles(method, params)), reach, dirs)
	case "mcpServer/elicitation/request":
		if !params.Get("_meta").Get("codex_approval_kind").Exists() {
			break // the server itself asks
		}
		server, _ := params.Get("serverName").Text()
		tool, _ := params.Get("_meta").Get("tool_name").Text()
		return p.rulesAt(st).MCP(server, tool)
	case "item/tool/call":
		tool, _ := params.Get("tool").Text()
		return p.rulesAt(st).Tool(tool)
	}
	return rules.Match{}
}

func (p *Policy) matchArgv(v rpc.Value, reach rules.Escalation, dirs rules.Dirs, st State) rules.Match {
	var words []string
	for e := range v.Elements() {
		word, ok := e.Text()
		if !ok {
			words = nil
			break
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return p.rulesAt(st).Shell(unreadableLine, "", reach, dirs)
	}
	return p.rulesAt(st).Argv(words, reach, dirs)
}

// ruleDirs returns the folders that rules may name.
func (p *Policy) ruleDirs(st State, params rpc.Value) rules.Dirs {
	d := rules.Dirs{Home: st.Home, Readings: st.readings, Lines: st.lines, ProgramStarts: st.ProgramStarts}
	if st.Thread != nil {
		d.Workspace = st.Thread.Workspace
	}
	if cwd, ok := params.Get("cwd").Text(); ok {
		d.Cwd, _ = st.canonical(cwd)
	}
	p.addRoots(&d, st)
	return d
}

// addRoots adds the writable roots for a command whose cwd is outside the workspace.
func (p *Policy) addRoots(d *rules.Dirs, st State) {
	if d.Workspace != "" && !Within(d.Workspace, d.Cwd) {
		d.Roots = p.allowed(st, d.Workspace)
	}
}

// ruleRefusal returns the refusal by a rule, with the answer for Codex.
func (p *Policy) ruleRefusal(method string, m rules.Match) Decision {
	r := Refusal{Method: method, Rule: ruleRule, Reason: ruleReason(m), Origin: m.Rule.Origin.String(), Hint: "change the rule, or run it yourself"}
	if m.Part != "" && m.Part != unreadableLine {
		r.Reason = strings.TrimSuffix(r.Reason, ".") + ": " + display.Line(clip(m.Part))
	}
	if m.Why != "" {
		r.Reason += " (" + m.Why + ")"
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, r), Answer: DeclineResult(method, r.Reason)}
}

// ruleReason returns the reason of the rule that decided, which is never empty.
func ruleReason(m rules.Match) string {
	return cmp.Or(m.Rule.Why(), "a rule says "+m.Decision.String())
}

// ruleQuestion returns the reason for a question by the rule that decided.
func ruleQuestion(m rules.Match) string {
	return strings.TrimSuffix(ruleReason(m), ".") + " (" + ruleRule + ", " + m.Rule.Origin.String() + ")"
}

// DeclineResult returns the result that declines a request of Codex; nil if only an error can. The
// model gets reason with a tool's result.
func DeclineResult(method, reason string) []byte {
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return []byte(`{"decision":"decline"}`)
	case "execCommandApproval", "applyPatchApproval":
		return []byte(`{"decision":{"denied":{"rejection":` + string(jsonString(reason)) + `}}}`)
	case "mcpServer/elicitation/request":
		return []byte(`{"action":"decline"}`)
	case "item/tool/requestUserInput":
		return []byte(`{"answers":{}}`)
	case "item/tool/call":
		raw, _ := json.Marshal(map[string]any{ // texts and a boolean: it can't fail
			"contentItems": []any{map[string]string{"type": "inputText", "text": "refused by policy: " + reason}}, "success": false,
		})
		return raw
	}
	return nil
}

// runsCommand reports whether the method runs a command of the client.
func runsCommand(method string) bool {
	return method == "command/exec" || method == "process/spawn" || method == "thread/shellCommand"
}

// decideClientCommand applies the rules to a command of the client: command/exec, or a method that
// policy.methods allows. No person can be asked about it.
func (p *Policy) decideClientCommand(m *rpc.Message, st State) (Decision, bool) {
	if p.rules == nil {
		return Decision{}, false
	}
	if !runsCommand(m.Method) {
		return Decision{}, false
	}
	if m.Truncated() { // Codex would read more words than the parser kept
		return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeTooLarge, Refusal{
			Method: m.Method, Rule: "codex.max_message", Field: "params", Reason: "the message has more values than the bridge reads", Hint: "send less",
		})}, true
	}
	match := p.matchClientCommand(m, st)
	if match.Decision != rules.Deny && match.Decision != rules.Ask {
		return Decision{}, false
	}
	d := p.ruleRefusal(m.Method, match)
	if match.Decision == rules.Ask {
		r := *d.Refusal()
		r.Reason += "; the bridge asks nobody about a command of the client, so it refuses it"
		d.Err = NewRefusalError(rpc.CodeRefused, r)
	}
	d.Answer = nil
	return d, true
}

// matchClientCommand returns the rule for a command of the client, which runs outside the thread's sandbox.
func (p *Policy) matchClientCommand(m *rpc.Message, st State) rules.Match {
	dirs := p.ruleDirs(st, m.Params)
	if m.Method != "thread/shellCommand" {
		return p.matchArgv(m.Params.Get("command"), rules.EscalationUnknown, dirs, st)
	}
	text, ok := m.Params.Get("command").Text()
	if !ok {
		text = unreadableLine
	}
	return p.rulesAt(st).Shell(text, "", rules.EscalationUnknown, dirs)
}
