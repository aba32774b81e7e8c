package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/rpc"
)

// programMethod is the method of the decisions on program starts.
const programMethod = "program/start"

// SetProgramStarts sets the function that reports whether each program start of a tool call is decided by
// [Guard.Program]. Lines then need to be read no further than they can be. Call it before the conversation starts.
func (g *Guard) SetProgramStarts(holds func() bool) { g.programStarts = holds }

// SetUnsupervised sets the function that returns why rules of a policy do not decide where programs start, although the
// policy asks for it; "" for others. Call it before the conversation starts.
func (g *Guard) SetUnsupervised(f func(*policy.Policy) (why string)) { g.unsupervised = f }

// unsupervisedNotice returns the sentence for the user about policies whose rules do not decide where programs start,
// although they ask for it; "" if there is none.
func (g *Guard) unsupervisedNotice(policies ...*policy.Policy) string {
	if g.unsupervised == nil {
		return ""
	}
	for _, p := range policies {
		if why := g.unsupervised(p); why != "" && p.Mode() == config.Enforce {
			return "codex-bridge applies the rules for commands to the lines of commands alone, and not where programs start: " + why
		}
	}
	return ""
}

// warnUnsupervised tells the user once that the rules of a thread that opens do not decide where programs start, although
// its policies ask for it.
func (g *Guard) warnUnsupervised(call *bridge.ClientMessage, policies []*policy.Policy) {
	text := g.unsupervisedNotice(policies...)
	if text == "" || call.Kind != rpc.Request {
		return
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if a.Result().Exists() && g.notices.add("programs") {
			g.warnAfter(a, map[string]any{"summary": text})
		}
	})
}

// WarnUnsupervised tells the user of a client with open threads once that the rules of a changed policy do not decide where
// programs start, although the policy asks for it.
func (g *Guard) WarnUnsupervised(p *policy.Policy) {
	text := g.unsupervisedNotice(p)
	if text == "" || !g.HasClient() || len(g.threads.shownThreads(g)) == 0 || g.peer.OptedOut(configWarning) || !g.notices.add("programs") {
		return
	}
	g.peer.Notify(configWarning, map[string]any{"summary": text, "details": nil})
}

// SetTurnEnded sets a function that is called when turns of a thread have ended; without turns, all of them. Call it
// before the conversation starts.
func (g *Guard) SetTurnEnded(f func(thread string, turns ...string)) { g.turnEnded = f }

// Program decides the start of a program by the rules for commands. of is the call that it belongs to, and use what
// the hook had of that call; the zero Call is that of a program whose call is not known: the strictest policy of all
// threads counts, also of those that Codex has unloaded, and no person is asked. report, if it is not nil, logs the
// refusal and tells the user; the program is refused even if that fails. If ctx has ended, no person can be asked.
func (g *Guard) Program(ctx context.Context, of supervise.Call, use toolcall.Call, start supervise.Start) (r Ruling, report func()) {
	state := g.currentState(rpc.Value{})
	if of.Thread != "" {
		state.Thread = g.threadFor(of.Thread, of.Turn)
	}
	policies := g.programPolicies(of.Thread, state.Thread)
	if policies[0].Mode() == config.Off {
		return Ruling{}, nil
	}
	if state.Thread != nil {
		call := g.modelCall(of.Thread, of.Turn, of.ID, state.Thread)
		state.Escalation, state.EscalationRequested = call.Escalation, call.Requested
		state.Accepted = g.calls.accepted(turnOf{of.Thread, of.Turn}, of.ID)
	}
	var terms policy.AnswerTerms
	var approvers *Approvers
	consent := ""
	var exceptions []rules.Exception
	d, p := strictest(policies, func(p *policy.Policy) policy.Decision {
		d := toolcall.DecideProgram(p, startedPrograms(start), start.Unreadable, state)
		terms = terms.With(d.AnswerTerms)
		approvers = approvers.with(d, state)
		exceptions = policy.AddExceptions(exceptions, d.Exceptions)
		consent += d.Consent
		return d
	}, strictness)
	if approvers != nil {
		consent = ""
	}
	exceptions = g.calls.otherExceptions(turnOf{of.Thread, of.Turn}, of.ID, exceptions)
	d, p = refuseQuestion(policies, p, d, use)
	asks := d.Verdict == policy.Pass && p.Mode() == config.Enforce && (d.Ask || approvers != nil)
	facts := func() string { return programFacts(policies, of.ID, start, state) }
	if cause := context.Cause(ctx); asks && cause != nil {
		d, asks = toolcall.RefuseUnaskedProgram(cause.Error()), false
		facts = func() string { return unknownFacts(of.ID, "no person could be asked about the program") }
	}
	if d.Verdict == policy.Pass && !asks && len(exceptions) == 0 {
		return Ruling{Consent: consent}, nil // most programs
	}
	r = Ruling{Exceptions: exceptions, Consent: consent}
	if asks || len(exceptions) > 0 {
		r.Facts = facts()
	}
	if asks {
		r.Ask, r.Why, r.Leaves, r.Unasked, r.Shell = d.Ask, d.AskReason, d.LeavesSandbox, d.Unasked, programShell
		r.AnswerTerms, r.Approvers = terms, approvers
	}
	if r.Basis = r.basis(); d.Verdict == policy.Pass {
		return r, nil
	}
	return g.refuseProgram(ctx, p.Mode(), of, start, d, facts)
}

// RecordMorePrograms logs that starts of a call were refused, or would be under audit, that have no entry of their own.
func (g *Guard) RecordMorePrograms(ctx context.Context, of supervise.Call, n int) {
	mode := g.programMode(of)
	if mode == config.Off {
		return
	}
	d := toolcall.RefuseProgram(fmt.Sprintf("%d more starts of refused programs have no entry of their own: the call has too many", n), "read the entries before this one")
	g.logDecision(mode, programMethod, d)
	about := subject{method: programMethod, thread: of.Thread, turn: of.Turn, facts: unknownFacts(of.ID, "it is the number of starts")}
	_ = g.record(ctx, mode, about, d) // they were refused
}

// RefuseProgram refuses a program as Program does, for another reason than a rule's decision.
func (g *Guard) RefuseProgram(ctx context.Context, of supervise.Call, start supervise.Start, reason, hint string) (r Ruling, report func()) {
	mode := g.programMode(of)
	if mode == config.Off {
		return Ruling{}, nil
	}
	facts := func() string { return unknownFacts(of.ID, "no rule alone has refused the program") }
	return g.refuseProgram(ctx, mode, of, start, toolcall.RefuseProgram(reason, hint), facts)
}

func (g *Guard) refuseProgram(ctx context.Context, mode config.Mode, of supervise.Call, start supervise.Start, d policy.Decision, facts func() string) (r Ruling, report func()) {
	if mode == config.Enforce {
		r.Refusal = d.Refusal().Sentence()
	}
	return r, func() {
		g.logDecision(mode, programMethod, d)
		line, _ := json.Marshal(start.Programs[:min(1, len(start.Programs))]) // texts: it can't fail
		about := subject{method: programMethod, thread: of.Thread, turn: of.Turn, line: line, facts: facts()}
		_ = g.record(ctx, mode, about, d) // the program is refused even if this fails
		if mode != config.Enforce {
			return
		}
		// Without the id of the call: the user is told of each program, and of the call besides.
		what := start.String()
		g.notifyListeners(programMethod, Applied{ThreadID: of.Thread, TurnID: of.Turn, What: what}, d)
		if of.Thread != "" {
			g.warnThread(of.Thread, "codex-bridge has refused to start "+display.Excerpt(what)+": "+d.Refusal().Sentence())
		}
	}
}

// basis returns Basis.
func (r Ruling) basis() *policy.Basis {
	b := &policy.Basis{Asked: r.Asks(), Unasked: r.Unasked, Terms: r.AnswerTerms}
	for _, e := range r.Exceptions {
		b.Exceptions = append(b.Exceptions, policy.RuleDigest(*e.Rule))
	}
	slices.Sort(b.Exceptions)
	return b
}

// offerCommands records which commands a person reads in a request of Codex about a command.
func (g *Guard) offerCommands(policies []*policy.Policy, request *rpc.Envelope, state policy.State) {
	if !g.decidesPrograms() || !request.ID.IsValid() {
		return
	}
	params := request.Root().Get("params")
	var all []rules.AskedCommand
	for _, p := range policies {
		all = append(all, serverrequest.AskedCommands(p, request.Method, params, state)...)
	}
	if len(all) > 0 {
		at, id := calledBy(params)
		g.calls.offer(at, id, request.ID.Key(), all)
	}
}

// AcceptedByPerson records that a person has read and accepted a request of Codex, for this time. Programs with the words
// of its line are not asked about again.
func (g *Guard) AcceptedByPerson(request *rpc.Envelope) {
	at, id := calledBy(request.Root().Get("params"))
	g.calls.takeOffered(at, id, request.ID.Key())
}

// calledBy returns the call that a request of Codex is about.
func calledBy(params rpc.Value) (at turnOf, id string) {
	at.thread, _ = params.Get("threadId").Text()
	at.turn, _ = params.Get("turnId").Text()
	id, _ = params.Get("itemId").Text()
	return at, id
}

// programPolicies returns the policies for a program of a thread. If settings is nil, the thread is not known, or Codex
// has unloaded it while its program goes on: then each policy counts that a thread has had.
func (g *Guard) programPolicies(thread string, settings *policy.Thread) []*policy.Policy {
	policies := g.policies(thread)
	if settings != nil {
		return policies
	}
	var earlier []*policy.Policy
	for _, p := range g.internalPolicies() {
		if p.Mode() == config.Enforce && !slices.ContainsFunc(policies, p.Equal) {
			earlier = append(earlier, p)
		}
	}
	if policies[0].Mode() == config.Enforce {
		return append(policies, earlier...)
	}
	return append(earlier, policies...)
}

// programMode returns the mode of the policies that decide the programs of a call.
func (g *Guard) programMode(of supervise.Call) config.Mode {
	var settings *policy.Thread
	if of.Thread != "" {
		settings = g.threadFor(of.Thread, of.Turn)
	}
	return g.programPolicies(of.Thread, settings)[0].Mode()
}

// RecordProgramExceptions logs the exceptions by which a program starts. It returns why it must not start: they can't
// be logged.
func (g *Guard) RecordProgramExceptions(ctx context.Context, of supervise.Call, r Ruling) (refusal string) {
	mode := g.programMode(of)
	about := subject{method: programMethod, thread: of.Thread, turn: of.Turn, facts: r.Facts}
	if err := g.recordExceptions(ctx, mode, about, r.Exceptions); err != nil {
		return err.Message
	}
	return ""
}

// programShell stands for the shell in questions about a program, which no shell reads.
const programShell = "none"

// startedPrograms returns the programs of a start for the rules.
func startedPrograms(start supervise.Start) []rules.Program {
	all := make([]rules.Program, len(start.Programs))
	for i, p := range start.Programs {
		all[i] = rules.Program{Path: p.Path, Resolved: p.File, Args: p.Args, Dir: p.Dir, Follow: start.Follow}
	}
	return all
}
