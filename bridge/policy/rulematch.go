package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// UnreadableLine stands for a command line that the bridge can't read. Every deny or ask rule
// matches it.
const UnreadableLine = rules.UnknownLine

// HasRules reports whether the policy has rules.
func (p *Policy) HasRules() bool { return p.rules != nil }

// RulesAt returns the rules as they count now; nil for none.
func (p *Policy) RulesAt(st State) *rules.Set { return rulesAt(p.rules, st) }

// RequiredRules returns the rules by which the machine's requirements make Codex ask; nil for none.
func (p *Policy) RequiredRules(st State) *rules.Set {
	if p.required == nil {
		return nil
	}
	return rulesAt(p.required.prompts, st)
}

func rulesAt(set *rules.Set, st State) *rules.Set {
	switch {
	case set == nil:
		return nil
	case st.Now == nil:
		return set.At(time.Time{})
	}
	return set.At(st.Now())
}

// MatchArgv returns the rule of a set for the words of a command.
func MatchArgv(set *rules.Set, v rpc.Value, reach rules.Escalation, dirs rules.Dirs) rules.Match {
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
		return set.Shell(UnreadableLine, "", reach, dirs)
	}
	return set.Argv(words, reach, dirs)
}

// RuleDirs returns the folders that rules may name.
func (p *Policy) RuleDirs(st State, params rpc.Value) rules.Dirs {
	d := rules.Dirs{Home: st.Home, Readings: st.Readings, Lines: st.Lines, ProgramStarts: st.ProgramStarts}
	if st.Thread != nil {
		d.Workspace = st.Thread.Workspace
	}
	if cwd, ok := params.Get("cwd").Text(); ok {
		d.Cwd, _ = st.Canonical(cwd)
	}
	p.AddRoots(&d, st)
	return d
}

// AddRoots adds the writable roots for a command whose cwd is outside the workspace.
func (p *Policy) AddRoots(d *rules.Dirs, st State) {
	if d.Workspace != "" && !Within(d.Workspace, d.Cwd) {
		d.Roots = p.Allowed(st, d.Workspace)
	}
}

// RuleRefusal returns the refusal by a rule, with the answer for Codex.
func (p *Policy) RuleRefusal(method string, m rules.Match) Decision {
	r := Refusal{Method: method, Rule: RuleRule, Reason: RuleReason(m), Origin: m.Rule.Origin.String(), Hint: "change the rule, or run it yourself"}
	if m.Part != "" && m.Part != UnreadableLine {
		r.Reason = strings.TrimSuffix(r.Reason, ".") + ": " + display.Line(display.Clip(m.Part))
	}
	if m.Why != "" {
		r.Reason += " (" + m.Why + ")"
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, r), Answer: DeclineResult(method, r.Reason)}
}

// RuleReason returns the reason of the rule that decided, which is never empty.
func RuleReason(m rules.Match) string {
	return cmp.Or(m.Rule.Why(), "a rule says "+m.Decision.String())
}

// RuleQuestion returns the reason for a question by the rule that decided.
func RuleQuestion(m rules.Match) string {
	return strings.TrimSuffix(RuleReason(m), ".") + " (" + RuleRule + ", " + m.Rule.Origin.String() + ")"
}

// DeclineResult returns the result that declines a request of Codex; nil if only an error can. The
// model gets reason with a tool's result.
func DeclineResult(method, reason string) []byte {
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return []byte(`{"decision":"decline"}`)
	case "execCommandApproval", "applyPatchApproval":
		return []byte(`{"decision":{"denied":{"rejection":` + string(JSONString(reason)) + `}}}`)
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

// RunsCommand reports whether the method runs a command of the client.
func RunsCommand(method string) bool {
	return method == "command/exec" || method == "process/spawn" || method == "thread/shellCommand"
}

// decideClientCommand applies the rules to a command of the client: command/exec, or a method that
// policy.methods allows. No person can be asked about it.
func (p *Policy) decideClientCommand(m *rpc.Message, st State) (Decision, bool) {
	if p.rules == nil {
		return Decision{}, false
	}
	if !RunsCommand(m.Method) {
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
	d := p.RuleRefusal(m.Method, match)
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
	dirs := p.RuleDirs(st, m.Params)
	if m.Method != "thread/shellCommand" {
		return MatchArgv(p.RulesAt(st), m.Params.Get("command"), rules.EscalationUnknown, dirs)
	}
	text, ok := m.Params.Get("command").Text()
	if !ok {
		text = UnreadableLine
	}
	return p.RulesAt(st).Shell(text, "", rules.EscalationUnknown, dirs)
}

// HasApprovers reports whether a rule needs approvers.
func (p *Policy) HasApprovers() bool {
	for _, r := range p.section.Rules {
		if r.Approvers != "" {
			return p.mode == config.Enforce
		}
	}
	return false
}

// RefuseUnapproved refuses a command that needs approvers, where the bridge can't ask them.
func (p *Policy) RefuseUnapproved(method string, m rules.Match, why string) Decision {
	reason := strings.TrimSuffix(RuleReason(m), ".") + ": " + membersText(m.Approvers) + " must approve it, and " + why
	return Decision{Verdict: Deny, Answer: DeclineResult(method, reason), Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: RuleApprovers, Reason: reason, Origin: m.Rule.Origin.String(), Hint: "run it yourself, or ask again in a turn of Codex",
	})}
}

// membersText returns quorums as the subject of a sentence.
func membersText(list []config.Quorum) string {
	var parts []string
	for _, q := range list {
		if q.Count == 1 {
			parts = append(parts, "a member of "+q.Group)
		} else {
			parts = append(parts, fmt.Sprintf("%d members of %s", q.Count, q.Group))
		}
	}
	return strings.Join(parts, " and ")
}

// ToolApproval is the method by which Codex asks about an MCP server's tool.
const ToolApproval = "mcpServer/elicitation/request"
