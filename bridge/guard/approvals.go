package guard

import (
	"context"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/rpc"
)

// Client returns the client's name and version, or "" before initialize.
func (g *Guard) Client() string { return g.clientName() }

// HasClient reports whether the client has sent initialize, also without a name.
func (g *Guard) HasClient() bool { return g.client.Load() != nil }

// StaysInSandbox reports whether an accepted request surely stays in the sandbox.
func (g *Guard) StaysInSandbox(method string, params rpc.Value) bool {
	state := g.currentState(params)
	state.Escalation = g.findEscalation(method, params, state)
	return g.everyPolicy(params, func(p *policy.Policy) bool { return serverrequest.AcceptStaysInSandbox(p, method, params, state) })
}

// RunsInSandbox reports whether a request is not known to leave the sandbox, and its escalation is
// not unknown.
func (g *Guard) RunsInSandbox(method string, params rpc.Value) bool {
	state := g.currentState(params)
	state.Escalation = g.findEscalation(method, params, state)
	return g.everyPolicy(params, func(p *policy.Policy) bool { return serverrequest.RunsInSandbox(p, method, params, state) })
}

// HasTerminal reports whether the command that Codex asks about gets a terminal. known is false if the bridge can't find
// out.
func (g *Guard) HasTerminal(params rpc.Value) (has, known bool) {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	id, _ := params.Get("itemId").Text()
	call := g.modelCall(thread, turn, id, g.threadFor(thread, turn))
	return call.Terminal, call.Escalation != rules.EscalationUnknown
}

// AnswerTerms returns which remembered answers to a request of Codex count.
func (g *Guard) AnswerTerms(method string, params rpc.Value) (terms policy.AnswerTerms) {
	state := g.currentState(params)
	state.Escalation = g.findEscalation(method, params, state)
	thread, _ := params.Get("threadId").Text()
	for _, p := range g.policies(thread) {
		terms = terms.With(serverrequest.Terms(p, method, params, state))
	}
	if method != "item/commandExecution/requestApproval" || g.Mode() == config.Off {
		return terms
	}
	line, _ := params.Get("command").Text()
	if argv, ok := rules.Split(line); ok {
		line = userrules.LineOf(argv)
	}
	return terms.With(policy.CodexRuleTerms(line, g.rulesFor()))
}

// everyPolicy reports whether is returns true for every policy of the thread in params.
func (g *Guard) everyPolicy(params rpc.Value, is func(*policy.Policy) bool) bool {
	thread, _ := params.Get("threadId").Text()
	return !slices.ContainsFunc(g.policies(thread), func(p *policy.Policy) bool { return p.Mode() != config.Off && !is(p) })
}

// WantsNotification reports whether the client has not disabled a notification.
func (g *Guard) WantsNotification(method string) bool {
	return !g.peer.OptedOut(method)
}

// RecordAnswer logs that the bridge answered a request of Codex in the user's place, with the rule
// and the reason. facts are those of the decision to ask; "" for those of the request. The error
// reports that the decision can't be logged.
func (g *Guard) RecordAnswer(ctx context.Context, request *rpc.Envelope, verdict policy.Verdict, rule, reason, facts string) error {
	params := request.Root().Get("params")
	d := policy.Decision{Verdict: verdict}
	refusal := policy.Refusal{Method: request.Method, Rule: rule, Reason: reason, Hint: "ask again"}
	if rule == policy.RuleNobody {
		refusal.Hint = "use a client in which a person answers"
	}
	if verdict == policy.Deny {
		d.Err = policy.NewRefusalError(rpc.CodeDeadline, refusal)
	} else {
		d.Changes = []policy.Change{{Field: "result", Rule: rule, Reason: reason}}
	}
	g.logDecision(effective, request.Method, d)
	about := subjectOf(request.Method, params, request.Root().Raw())
	about.recordTimeout = shortRecordTimeout
	if about.facts = facts; facts == "" {
		about.facts = g.RequestFacts(request.Method, params, false)
	}
	if err := g.record(ctx, effective, about, d); err != nil {
		if verdict == policy.Deny { // a refusal applies even if it can't be logged
			g.notifyApplied(request.Method, request.ID, params, d)
		}
		return err
	}
	g.notifyApplied(request.Method, request.ID, params, d)
	return nil
}

// AcceptsCall reports whether the rules accept a call of an MCP server's tool in the user's place, and
// logs that. question is the one that Codex will ask about the call.
//
// Measured with Codex 0.169: under never, an acceptance by the hook runs a call that Codex rejects.
func (g *Guard) AcceptsCall(ctx context.Context, question *rpc.Envelope) bool {
	params := question.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	policies := g.policies(thread)
	state := g.currentState(params)
	if policies[0].Mode() != config.Enforce || !toolcall.AsksAboutMCP(state.Thread) {
		return false
	}
	state.ThreadRevoked, state.CallKnown = g.isRevoked(params), true
	state.Paths = &replay.PathLog{Paths: state.Paths}
	d, p := strictest(policies, func(p *policy.Policy) policy.Decision { return serverrequest.Decide(p, question.Method, params, state) }, strictness)
	if d.Verdict != policy.Accept {
		return false
	}
	g.logDecision(p.Mode(), question.Method, d)
	about := subjectOf(question.Method, params, question.Root().Raw())
	about.facts = requestFacts(policies, question.Method, params, state)
	if err := g.record(ctx, p.Mode(), about, d); err != nil {
		return false
	}
	g.notifyApplied(question.Method, question.ID, params, d)
	return true
}

// AsksAboutMCP reports whether Codex asks the client about tools of MCP servers in a turn.
func (g *Guard) AsksAboutMCP(thread, turn string) bool {
	return toolcall.AsksAboutMCP(g.threadFor(thread, turn))
}

// AsksNothing reports whether the approval policy of a turn is never.
func (g *Guard) AsksNothing(thread, turn string) bool {
	one := g.threadFor(thread, turn)
	return one != nil && string(one.Approval) == `"never"`
}

// RecordChange logs a change of a request of Codex before the client gets it. line is that request.
func (g *Guard) RecordChange(ctx context.Context, request *rpc.Envelope, line []byte, change policy.Change) {
	d := policy.Decision{Verdict: policy.Rewrite, Changes: []policy.Change{change}}
	g.recordRewrite(ctx, request, line, d)
	g.notifyApplied(request.Method, request.ID, request.Root().Get("params"), d)
}

// RecordNarrowed logs that the client gets a request of Codex with fewer answers than Codex offers. That takes
// nothing away that the client sent, so it gets no notification of it.
func (g *Guard) RecordNarrowed(ctx context.Context, request *rpc.Envelope, line []byte, changes []policy.Change) {
	g.recordRewrite(ctx, request, line, policy.Decision{Verdict: policy.Rewrite, Changes: changes})
}

func (g *Guard) recordRewrite(ctx context.Context, request *rpc.Envelope, line []byte, d policy.Decision) {
	params := request.Root().Get("params")
	g.logDecision(effective, request.Method, d)
	about := subjectOf(request.Method, params, line)
	about.canWait = true // the change tightens, and applies even if it can't be logged
	about.facts = g.RequestFacts(request.Method, params, false)
	_ = g.record(ctx, effective, about, d)
}

// Consents reports whether every policy of the thread in params allows a server's tool without the
// user's consent.
func (g *Guard) Consents(params rpc.Value, use toolcall.Call) bool {
	state := g.currentState(params)
	state.ThreadRevoked = g.isRevoked(params)
	return g.everyPolicy(params, func(p *policy.Policy) bool { return toolcall.DecidePermission(p, use, state).Verdict == policy.Pass })
}
