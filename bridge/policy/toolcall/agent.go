package toolcall

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// AgentRequest is an approval that an ACP agent asks for.
type AgentRequest struct {
	Command *string  // a shell command; "" if unknown
	Files   []string // absolute paths of changed files, also by the command; "" for an unknown one
	Tool    string   // the kind of the tool, such as fetch; "other" if the agent states none
	Cwd     string   // the agent's folder
	RunsIn  string   // where the command runs; "" if unknown
	Agent   string   // its name in the configuration
	Input   json.RawMessage
	Content json.RawMessage // what the agent shows of the call, such as a diff
	Unread  []string        // members of Input that the bridge does not know: no rule allows the request then
	// OwnBridge reports that the agent is a Codex with its own bridge, which applies
	// policy.escalation itself.
	OwnBridge bool
}

// Summary returns the request as a person reads it: the command, the changed files, or the tool.
func (u AgentRequest) Summary() string {
	switch {
	case u.Command != nil:
		return *u.Command
	case len(u.Files) > 0:
		return strings.Join(u.Files, ", ")
	}
	return u.Tool
}

// Describe returns all that the request would allow, as JSON for the decision log.
func (u AgentRequest) Describe() string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(struct { // strings and parsed JSON always have a JSON form
		Agent   string          `json:"agent"`
		Tool    string          `json:"tool"`
		Command *string         `json:"command,omitempty"`
		Files   []string        `json:"files,omitempty"`
		Cwd     string          `json:"cwd"`
		Input   json.RawMessage `json:"rawInput,omitempty"`
		Content json.RawMessage `json:"content,omitempty"`
	}{u.Agent, u.Tool, u.Command, u.Files, u.RunsIn, u.Input, u.Content})
	return strings.TrimSpace(text.String())
}

// DecideAgent checks an agent's request against the rules and policy.escalation. The verdict is
// Deny, Accept if a rule allows the request, or Pass if a person must decide. The bridge knows of
// no sandbox around an agent, so only rules with escalated = true allow anything.
func DecideAgent(p *policy.Policy, method string, u AgentRequest, st policy.State) policy.Decision {
	var m rules.Match
	if p.HasRules() {
		m = matchAgent(p, u, st)
	}
	unread := "the bridge does not know these members of the agent's request: " + display.Line(display.Clip(strings.Join(u.Unread, ", ")))
	if m.Why != "" && len(u.Unread) > 0 {
		m.Why += "; " + unread
	}
	switch {
	case m.Decision == rules.Deny:
		d := p.RuleRefusal(method, m)
		d.Answer = nil
		return d
	case len(m.Approvers) > 0:
		d := p.RefuseUnapproved(method, m, "the bridge does not ask them about agents")
		d.Answer = nil
		return d
	case p.Missing() != "":
		return p.RefuseMissing(method)
	case !p.AsksEscalation() && !u.OwnBridge:
		return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
			Method: method, Rule: policy.RuleEscalation, Reason: "the bridge knows of no sandbox around the agent, so the action would leave it", Origin: p.OriginOrDefault(policy.RuleEscalation),
			Hint: `to ask a person, set policy.escalation = "ask"`,
		})}
	case len(u.Unread) > 0 && (m.Decision == rules.Allow || m.Decision == rules.None && (u.Command != nil || len(u.Files) > 0)):
		return policy.Decision{Verdict: policy.Pass, Ask: true, AskReason: "no rule allows it, since " + unread}
	case m.Decision != rules.Ask && u.Command != nil && u.RunsIn == "":
		return policy.Decision{Verdict: policy.Pass, Ask: true, AskReason: "no rule allows it, since the agent's request does not state its folder as one absolute path"}
	case m.Decision == rules.Allow:
		return policy.Decision{Verdict: policy.Accept, Changes: append([]policy.Change{{
			Field: "result", Rule: policy.RuleRule, Reason: policy.RuleReason(m) + ": " + u.Describe(), Origin: m.Rule.Origin.String(),
		}}, policy.ExceptionChanges(m)...)}
	case m.Decision == rules.Ask:
		return policy.Decision{Verdict: policy.Pass, Ask: true, AskReason: m.Rule.Why()}
	}
	return policy.Decision{Verdict: policy.Pass, Ask: true}
}

// agentShell is the shell for which the rules judge an agent's commands, because agents do not name
// theirs. Outside Windows, all supported shells read an allowed line in the same way.
var agentShell = map[bool]string{false: "sh"}[runtime.GOOS == "windows"]

func matchAgent(p *policy.Policy, u AgentRequest, st policy.State) rules.Match {
	dirs := rules.Dirs{Home: st.Home}
	dirs.Workspace, _ = st.Canonical(u.Cwd)
	if u.RunsIn != "" {
		dirs.Cwd, _ = st.Canonical(u.RunsIn)
	}
	dirs.Readings = func(path string) ([]string, error) { return st.ReadingsIn(dirs.Workspace, path) }
	p.AddRoots(&dirs, st)
	var parts []rules.Match
	switch {
	case u.Command != nil && *u.Command == "":
		parts = append(parts, p.RulesAt(st).Shell(policy.UnreadableLine, "", rules.Escalated, dirs))
	case u.Command != nil:
		parts = append(parts, p.RulesAt(st).Shell(*u.Command, agentShell, rules.Escalated, dirs))
	}
	if len(u.Files) > 0 {
		parts = append(parts, p.RulesAt(st).Files(st.FileChanges(dirs.Workspace, u.Files), rules.Escalated, dirs))
	}
	if parts == nil {
		return p.RulesAt(st).AgentTool(u.Tool, rules.AgentCall{})
	}
	for _, kind := range u.kinds() {
		// An allow rule for the kind does not count: the command and the files need their own.
		if m := p.RulesAt(st).AgentTool(kind, rules.AgentCall{Command: u.Command != nil, Files: len(u.Files) > 0}); m.Decision > rules.Allow {
			parts = append(parts, m)
		}
	}
	strict := parts[0]
	for _, m := range parts[1:] {
		switch {
		case m.Decision > strict.Decision && m.Decision != rules.Allow, strict.Decision == rules.Allow && m.Decision != rules.Allow:
			m.Approvers = config.MergeQuorums(strict.Approvers, m.Approvers)
			strict = m // a request that is allowed in part is not allowed
		default:
			strict.Approvers = config.MergeQuorums(strict.Approvers, m.Approvers)
		}
	}
	return strict
}

// AgentKinds are the kinds of tools that the Agent Client Protocol has.
var AgentKinds = []string{"read", "edit", "delete", "move", "search", kindExecute, "think", "fetch", "switch_mode", "other"}

const kindExecute = "execute"

// kinds returns the kinds of tools for which a deny or ask rule counts: the stated kind; execute for each
// command; edit for changed files, unless the kind says how they change. A call of which nothing is known may be of each
// kind.
func (u AgentRequest) kinds() []string {
	if u.Command != nil && *u.Command == "" && slices.Contains(u.Files, "") {
		return append([]string{u.Tool}, AgentKinds...)
	}
	kinds := []string{u.Tool}
	if u.Command != nil && u.Tool != kindExecute {
		kinds = append(kinds, kindExecute)
	}
	if len(u.Files) > 0 && !slices.Contains([]string{"edit", "delete", "move"}, u.Tool) {
		kinds = append(kinds, "edit")
	}
	return kinds
}

// KindsNotAllowed returns the kinds of agents' tools that an allow rule names, and whose calls it can't allow: their
// command and files decide. A pattern that starts with * means no kind in particular.
func KindsNotAllowed(r config.Rule) (kinds []string) {
	if r.Decision != "allow" || !r.Escalated || r.Command != "" || r.Path != "" || strings.HasPrefix(r.Tool, "*") {
		return nil
	}
	for _, one := range []struct{ kind, tool string }{{kindExecute, "shell"}, {"edit", "file"}, {"delete", "file"}, {"move", "file"}} {
		if config.Match(r.Tool, one.kind) && !config.Match(r.Tool, one.tool) {
			kinds = append(kinds, one.kind)
		}
	}
	return kinds
}
