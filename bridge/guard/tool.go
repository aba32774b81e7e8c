package guard

import (
	"context"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Workspace returns the folder of a thread that may take turns, for a subagent that of its root
// thread. It returns "" for another thread.
func (g *Guard) Workspace(thread string) string {
	one := g.threads.peek(thread)
	if one == nil {
		one = g.rootThread(g.policy.Load(), thread)
	}
	if one == nil {
		return ""
	}
	return one.Workspace
}

// Sandbox identifies the effective sandbox of a turn, as Codex reported it; "" if it is unknown. Two
// turns whose commands have the same rights have the same one.
func (g *Guard) Sandbox(thread, turn string) string {
	one := g.threadFor(thread, turn)
	if one == nil {
		return ""
	}
	if root := g.rootThread(g.policy.Load(), thread); root != nil && !one.Profile.Defined {
		with := *one // a subagent has the profile of its root thread
		with.Profile = root.Profile
		one = &with
	}
	return one.SandboxKey()
}

// Ruling is the decision on a tool call.
type Ruling struct {
	Refusal string // why it must not run; "" if it may
	Ask     bool   // the bridge must ask the user
	Why     string // the reason that the user is shown; may be ""
	Leaves  bool   // the call would leave the sandbox
	Unasked string // why the user must not be asked, so that only a remembered answer lets the call run
	Shell   string // the shell of a command, with its flags if the call has them; "" if unknown
	Facts   string // of the decision, for the log, if a person is asked or an exception counts
	// AnswerTerms says which remembered answers count.
	AnswerTerms policy.AnswerTerms
	// Approvers must approve the call besides the user; nil: there are none.
	Approvers *Approvers
	// Consent names the rules that ask about a program; see policy.Decision.Consent.
	Consent string
	// Basis is of a program that rules ask about, or that uses Exceptions.
	Basis *policy.Basis
	// Exceptions must be passed to RecordExceptions if the call runs.
	Exceptions []rules.Exception
}

// Approvers are the members of groups who must approve a call.
type Approvers struct {
	Groups []config.Quorum
	Rule   string // the reason and the place of the rule
	Leaves bool   // the call may leave the sandbox
}

// toolCall is a tool call while Tool decides it.
type toolCall struct {
	thread, turn string
	use          toolcall.Call
	payload      []byte // of the hook
	state        policy.State
	terminal     string // for Ruling.Shell
}

// toolVerdict is the decision about a tool call.
type toolVerdict struct {
	policy.Decision
	by         *policy.Policy
	asks       bool // a person is asked
	terms      policy.AnswerTerms
	approvers  *Approvers
	exceptions []rules.Exception
	asked      []rules.AskedCommand
	facts      func() string
}

const toolMethod = "hook/preToolUse"

// Tool decides a tool call that Codex is about to run. call is the payload of the hook.
func (g *Guard) Tool(ctx context.Context, thread, turn string, use toolcall.Call, call []byte) Ruling {
	g.tighten(thread)
	policies := g.policies(thread)
	if policies[0].Mode() == config.Off {
		return Ruling{}
	}
	c := &toolCall{thread: thread, turn: turn, use: use, payload: call, state: g.callState(ctx, thread, turn, use, call)}
	if c.state.CodexInternal {
		policies = g.internalPolicies()
	}
	g.addModelCall(c)
	if policies[0].Mode() == config.Enforce {
		g.holdMountPoints(ctx, thread, turn, c.state.Thread)
	}
	v := g.judgeTool(ctx, policies, c)
	if v.Verdict == policy.Pass {
		return g.passTool(c, v)
	}
	mode := v.by.Mode()
	g.logDecision(mode, toolMethod, v.Decision)
	// The denial applies even if it can't be logged.
	_ = g.record(ctx, mode, subject{method: toolMethod, thread: thread, turn: turn, line: call, facts: v.facts()}, v.Decision)
	if mode != config.Enforce {
		return Ruling{}
	}
	g.notifyCall(toolMethod, thread, turn, c.use, v.Decision)
	return Ruling{Refusal: v.Err.Message}
}

// addModelCall adds what Codex's file has of the model's call.
func (g *Guard) addModelCall(c *toolCall) {
	if c.state.Thread == nil {
		return
	}
	call := g.modelCall(c.thread, c.turn, c.use.ID, c.state.Thread)
	c.state.Escalation, c.state.EscalationRequested = call.Escalation, call.Requested
	c.use.Shell, c.use.Flags = call.Shell, call.Flags
	if call.Terminal && call.Shell != "" {
		c.terminal = ", with a terminal"
	}
}

// judgeTool returns the strictest decision about a call.
func (g *Guard) judgeTool(ctx context.Context, policies []*policy.Policy, c *toolCall) toolVerdict {
	c.state.Paths = &replay.PathLog{Paths: c.state.Paths}
	c.state.Agent = g.agentSettings(ctx, policies[0], c.state.Thread, c.use)
	gitErr := g.checkAgentGit(ctx, policies, c.use, c.state.Thread)
	agentErr := g.agentRefusal(c.use, c.thread, c.turn)
	v := toolVerdict{facts: func() string { return callFacts(policies, c.use, c.state) }}
	if agentErr != nil || gitErr != nil {
		v.facts = func() string { return unknownFacts(c.use.ID, "it is a call to a subagent") }
	}
	allowed := true // by a rule of each policy
	v.Decision, v.by = strictest(policies, func(p *policy.Policy) policy.Decision {
		if agentErr != nil {
			return policy.Decision{Verdict: policy.Deny, Err: agentErr}
		}
		d := toolcall.Decide(p, c.use, c.state)
		v.terms = v.terms.With(d.AnswerTerms)
		v.approvers = v.approvers.with(d, c.state)
		v.exceptions = policy.AddExceptions(v.exceptions, d.Exceptions)
		v.asked = append(v.asked, d.Asked...)
		allowed = allowed && d.AllowedByRule
		if d.Verdict == policy.Deny || gitErr == nil || !g.wantsGitCheck(p) {
			return d
		}
		return policy.Decision{Verdict: policy.Deny, Err: gitErr}
	}, strictness)
	v.AllowedByRule = allowed
	d, ruled := g.applyCodexRules(v.by, v.Decision, c.use, c.state)
	v.Decision, v.by = refuseQuestion(policies, v.by, d, c.use)
	if v.terms = v.terms.With(v.AnswerTerms); ruled {
		v.facts = func() string { return unknownFacts(c.use.ID, dependsOnCodexRules) }
	}
	v.asks = v.by.Mode() == config.Enforce && (v.Ask || v.approvers != nil)
	if v.Verdict == policy.Pass {
		if refused, ok := g.refuseReplaceable(ctx, v.by, c.thread, c.use, c.state, v.asks); ok {
			v.Decision = refused
		}
	}
	return v
}

// passTool returns the ruling on a call that no policy refuses.
func (g *Guard) passTool(c *toolCall, v toolVerdict) Ruling {
	mode := v.by.Mode()
	if !v.asks && len(v.exceptions) == 0 {
		g.notifyPassed(mode, toolMethod, c.thread, c.turn, "", v.facts)
		return Ruling{}
	}
	r := Ruling{Facts: v.facts(), Exceptions: v.exceptions}
	at := turnOf{c.thread, c.turn}
	g.calls.except(at, c.use.ID, v.exceptions)
	if !v.asks {
		g.notifyPassed(mode, toolMethod, c.thread, c.turn, "policy.rule", func() string { return r.Facts })
		return r
	}
	g.calls.ask(at, c.use.ID, v.asked)
	r.Approvers, r.Shell = v.approvers, strings.TrimSpace(c.use.Shell+" "+c.use.Flags)+c.terminal
	if v.Ask {
		r.Ask, r.Why, r.Leaves, r.AnswerTerms, r.Unasked = true, v.AskReason, v.LeavesSandbox, v.terms, v.Unasked
	}
	return r
}

// Asks returns the people that must be asked.
func (r Ruling) Asks() policy.People {
	p := policy.People{User: r.Ask, Leaves: r.Leaves}
	if r.Approvers != nil {
		p.Groups, p.Leaves = r.Approvers.Groups, p.Leaves || r.Approvers.Leaves
	}
	return p
}

// refuseQuestion refuses to ask about a call if a policy denies the question. by is the policy of the decision.
func refuseQuestion(policies []*policy.Policy, by *policy.Policy, d policy.Decision, use toolcall.Call) (policy.Decision, *policy.Policy) {
	for i, p := range policies {
		if i > 0 && p.Mode() != config.Enforce { // as for strictest
			continue
		}
		if refused := toolcall.RefuseQuestion(p, d, use); refused.Err != nil && d.Err == nil {
			return refused, p
		}
	}
	return d, by
}

// RecordExceptions logs the exceptions of a ruling by which a tool call is about to run. It returns why it must not
// run: they can't be logged.
func (g *Guard) RecordExceptions(ctx context.Context, thread, turn string, call []byte, r Ruling) (refusal string) {
	const method = "hook/preToolUse"
	mode := g.policies(thread)[0].Mode()
	err := g.recordExceptions(ctx, mode, subject{method: method, thread: thread, turn: turn, line: call, facts: r.Facts}, r.Exceptions)
	if err == nil {
		return ""
	}
	return err.Message
}

// recordExceptions logs the use of exceptions. The error is the refusal of a call under enforce whose
// exceptions can't be logged.
func (g *Guard) recordExceptions(ctx context.Context, mode config.Mode, about subject, used []rules.Exception) *rpc.Error {
	if len(used) == 0 || mode == config.Off {
		return nil
	}
	d := policy.UseExceptions(used)
	g.logDecision(mode, about.method, d)
	return g.recordEffect(ctx, mode, about, d).Err
}

// with adds the approvers of a decision. A call stays in the sandbox only if the bridge is sure of that.
func (a *Approvers) with(d policy.Decision, state policy.State) *Approvers {
	if len(d.Approvers) == 0 {
		return a
	}
	if a == nil {
		r := d.ApproversRule
		a = &Approvers{Rule: strings.TrimSpace(r.Why() + " (" + r.Origin.String() + ")")}
	}
	a.Groups = config.MergeQuorums(a.Groups, d.Approvers)
	a.Leaves = a.Leaves || d.LeavesSandbox || state.Escalation != rules.Sandboxed || state.EscalationRequested
	return a
}

// Permits reports whether a hook's consent to a PermissionRequest may reach Codex.
func (g *Guard) Permits(ctx context.Context, thread, turn string, use toolcall.Call, call []byte) bool {
	policies := g.policies(thread)
	if policies[0].Mode() == config.Off {
		return true
	}
	state := g.currentState(rpc.Value{})
	state.Thread = g.threadFor(thread, turn)
	state.ThreadRevoked = state.Thread == nil && g.isOpened(thread)
	state.Paths = &replay.PathLog{Paths: state.Paths}
	d, p := strictest(policies, func(p *policy.Policy) policy.Decision { return toolcall.DecidePermission(p, use, state) }, strictness)
	if d.Verdict == policy.Pass {
		return true
	}
	const method = "hook/permissionRequest"
	g.logDecision(p.Mode(), method, d)
	_ = g.record(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: call, facts: callFacts(policies, use, state)}, d) // the result is the same if it can't be logged
	if p.Mode() != config.Enforce {
		return true
	}
	g.notifyCall(method, thread, turn, use, d)
	return false
}
