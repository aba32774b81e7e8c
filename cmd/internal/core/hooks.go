package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/rpc"
)

// HookStatus is what Codex shows while a hook of ours runs.
const HookStatus = "codex-bridge"

// Hooks relays Codex's hooks for one client. It selects the hooks of a thread, and answers them.
type Hooks struct {
	Guard  *guard.Guard
	Answer *handlers.Chain
	Inject *inject.Feature

	hello *hello.Hello
	// unattended answers hooks of turns whose client has gone.
	unattended *handlers.Chain
	gate       *handlers.Gate
	questions  *approvals.Feature
	askDesk    func(context.Context, *Hooks, *hook.Call, guard.Ruling) hook.Answer
	socket     *HookSocket
	starts     *ProgramStarts
	config     atomic.Pointer[config.Config]
}

// newHooks returns the hooks of a client of a Codex.
func newHooks(shared *Shared, g *guard.Guard, hi *hello.Hello, o ConversationOptions) *Hooks {
	cfg := shared.Config.Load()
	h := &Hooks{Guard: g, hello: hi, askDesk: o.AskDesk, socket: shared.Socket, starts: shared.Starts}
	h.config.Store(cfg)
	chain := handlers.Options{
		Hooks: cfg.Hooks, Rules: h.rules, Confine: h.confine, Replaces: h.replaces, Permits: h.permits, Consents: h.consents, AsksPermission: h.asksPermission, Client: hi, Dir: g.Workspace, CheckFiles: g.CheckScripts, Failed: h.failed, Denied: h.denied, Limiter: shared.Limiter, Log: o.Log,
	}
	h.Answer = handlers.New(chain)
	chain.Rules, chain.Client = h.unattendedRules, noClient{}
	h.unattended = handlers.New(chain)
	h.Inject = shared.Inject.Join(inject.Options{
		Plan:    h.plan,
		Mode:    func() config.Mode { return g.Policy().Mode() },
		Observe: func(inject.State) { o.HooksChanged() },
		Failed:  g.FailedHook, Unanswered: g.UnansweredHook,
		Refuse:   g.RefuseUnhooked,
		IsShared: o.IsShared,
		Log:      o.Log,
	})
	g.SetOtherHooks(h.Inject.OtherHooks, inject.Source)
	return h
}

// noClient is the handlers.Client of a turn whose client has gone.
type noClient struct{}

// Wants implements handlers.Client.
func (noClient) Wants(string) bool { return false }

// Hook implements handlers.Client.
func (noClient) Hook(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errUnattended
}

var errUnattended = errors.New("the client that began the turn has gone")

// failed reports a failed handler or client that stopped nothing.
func (h *Hooks) failed(ctx context.Context, call *hook.Call, reason string) {
	h.Guard.FailedHandler(ctx, call.Thread(), call.TurnID, handlers.ClientName(call.Event), reason)
}

// denied logs the denial of a handler, or of the bridge for want of an answer.
func (h *Hooks) denied(ctx context.Context, call *hook.Call, reason string) {
	recordDenied(ctx, h.Guard, call, "hooks.handler", reason, "")
}

// recordDenied logs that a call is denied that no rule of the policy has denied. facts are those of the decision to
// ask about it; "": unknown.
func recordDenied(ctx context.Context, g *guard.Guard, call *hook.Call, rule, reason, facts string) {
	g.RecordDenied(ctx, guard.DeniedCall{
		Event: handlers.ClientName(call.Event), Thread: call.Thread(), Turn: call.TurnID, ID: call.ToolUseID, Payload: call.Payload,
		Rule: rule, Reason: reason, Facts: facts,
	})
}

// DenyUnasked denies a call about which no person can be asked, and logs that. Denials without a gate, a handler or
// a rule are made here alone, so each has an entry in the decision log.
func DenyUnasked(ctx context.Context, g *guard.Guard, call *hook.Call, why, facts string) hook.Answer {
	if !call.Event.Decides() {
		return hook.Answer{}
	}
	recordDenied(ctx, g, call, "approvals.nobody", why, facts)
	return hook.Answer{Decision: hook.Deny, Reason: handlers.NobodyAsked + why + ". " + hook.AdviceForModel}
}

// SetConfig applies a changed configuration: to answers at once, to installed hooks when the
// next thread is opened.
func (h *Hooks) SetConfig(cfg *config.Config) {
	h.config.Store(cfg)
	h.Answer.SetConfig(cfg.Hooks)
	h.unattended.SetConfig(cfg.Hooks)
}

// Approvals returns the section [approvals] of the current configuration.
func (h *Hooks) Approvals() config.Approvals { return h.config.Load().Approvals }

// Thread returns the section [thread] of the current configuration.
func (h *Hooks) Thread() config.Thread { return h.config.Load().Thread }

// Config returns the current configuration.
func (h *Hooks) Config() *config.Config { return h.config.Load() }

// Steering returns the section [steering] of the current configuration.
func (h *Hooks) Steering() config.Steering { return h.config.Load().Steering }

// plan returns the hooks to install in a thread, or nil if hooks are off. A policy that is enforced has them
// even before setConfig: a change of the configuration replaces the policy first.
func (h *Hooks) plan(approval rpc.Value) (*inject.Plan, error) {
	cfg := h.config.Load().Hooks
	if !cfg.On && !h.Guard.Enforces() {
		return nil, nil
	}
	server, err := h.socket.listen()
	if err != nil {
		return nil, fmt.Errorf("can't open the socket of the hooks: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the path of codex-bridge can't be determined: %w", err)
	}
	var events []hook.Event
	if !slices.Equal(cfg.Events, config.Default().Hooks.Events) {
		for _, name := range cfg.Events {
			events = append(events, hook.Event(name))
		}
	}
	plan := &inject.Plan{
		Events: inject.SelectEvents(events, approval), IsIdle: h.isIdle, Matchers: make(map[hook.Event]string), Timeout: time.Duration(cfg.Timeout), Status: HookStatus,
	}
	if h.Guard.Enforces() && !slices.Contains(events, hook.PermissionRequest) {
		// Which tools it is for must not depend on the thread: Codex keeps the hooks of a loaded thread.
		plan.Matchers[hook.PermissionRequest] = mcpTools
		if !slices.Contains(plan.Events, hook.PermissionRequest) {
			plan.Events = append(slices.Clone(plan.Events), hook.PermissionRequest)
		}
	}
	if h.starts.Supervisor != nil && (!slices.Contains(plan.Events, hook.PostToolUse) || h.IsUnwanted(hook.PostToolUse)) {
		plan.Matchers[hook.PostToolUse] = shellTool // for refused programs alone
		if !slices.Contains(plan.Events, hook.PostToolUse) {
			plan.Events = append(slices.Clone(plan.Events), hook.PostToolUse)
		}
	}
	if h.Guard.Policy().GateEnabled() {
		plan.PersonTimeout = time.Duration(h.Approvals().Timeout)
	}
	if d := h.Approvals().Desk; len(d.Groups) > 0 {
		plan.PersonTimeout += time.Duration(d.Timeout)
	}
	allow := cfg.OnFailure == "allow"
	if _, err := server.Command(self, hook.PreToolUse, time.Duration(cfg.Timeout), allow); err != nil {
		return nil, err
	}
	plan.Command = func(e hook.Event) string {
		line, _ := server.Command(self, e, plan.Limit(e), allow) // only its paths can be wrong
		return line
	}
	return plan, nil
}

// shellTool is the matcher of commands in Codex's hooks.
const shellTool = "^Bash$"

// mcpTools is the matcher of the tools of MCP servers in Codex's hooks.
const mcpTools = "^mcp__"

// consents reports whether a rule or a person has accepted the call of a PermissionRequest.
func (h *Hooks) consents(ctx context.Context, call *hook.Call) bool {
	return h.questions.Consents(ctx, call)
}

// asksPermission reports whether handlers and the client are consulted about a PermissionRequest.
func (h *Hooks) asksPermission(call *hook.Call) bool {
	return !h.Guard.Enforces() || slices.Contains(h.config.Load().Hooks.Events, string(hook.PermissionRequest)) ||
		h.Guard.AsksNothing(call.Thread(), call.TurnID)
}

// isIdle reports whether an event has nothing to do. Events that decide are never idle: the rules may change at any
// time. Neither is the one by which the model learns of refused programs.
func (h *Hooks) isIdle(e hook.Event) bool {
	return !e.Decides() && h.IsUnwanted(e) && (e != hook.PostToolUse || h.starts.Supervisor == nil)
}

// IsUnwanted reports whether an event has neither a handler nor a client that wants it.
func (h *Hooks) IsUnwanted(e hook.Event) bool {
	return !h.hello.Wants(handlers.ClientName(e)) && !slices.ContainsFunc(h.config.Load().Hooks.Handlers, func(one config.Handler) bool { return one.Event == string(e) })
}

// Decide answers one run of a hook, and tells the user if the call is refused, unless the user has
// declined it. attended is false if the client that began the turn has gone.
func (h *Hooks) Decide(ctx context.Context, call *hook.Call, attended bool) hook.Answer {
	a := h.answerCall(ctx, call, attended)
	if a.Decision == hook.Deny && !a.Declined {
		what := call.ToolName
		if use, err := UseOf(call); err == nil && call.Unreadable == nil {
			what = use.Summary()
		}
		h.Guard.WarnRefusedCall(call.Thread(), call.TurnID, call.ToolUseID, what, a.ReasonForUser())
	}
	if call.Event == hook.PreToolUse && a.Decision != hook.Deny {
		runs := *call
		if a.Input != nil {
			runs.ToolInput = a.Input
		}
		if use, err := UseOf(&runs); err == nil {
			h.Guard.JudgedCall(call.Thread(), call.TurnID, use)
			h.starts.announce(call, use, h)
		}
	}
	if call.Event == hook.PostToolUse {
		a.Context = h.starts.Programs.Result(call)
	}
	return a
}

// answerUnreadable denies a call that the bridge can't read. After a call, and at the end of a turn, the user
// reads that no handler was asked.
func (h *Hooks) answerUnreadable(ctx context.Context, call *hook.Call) hook.Answer {
	if call.Event.Decides() {
		h.RefuseUnreadable(ctx, call, call.Unreadable)
	} else if !h.IsUnwanted(call.Event) {
		h.failed(ctx, call, fmt.Sprintf("the hook %s asked no handler: %v", call.Event, call.Unreadable))
	}
	return hook.FailureAnswer(call.Event, call.Unreadable.Error())
}

// RefuseUnreadable logs that a call is denied since the bridge can't read it, and returns the reason.
func (h *Hooks) RefuseUnreadable(ctx context.Context, call *hook.Call, err error) (refusal string) {
	h.Guard.RefuseUnreadable(ctx, guard.UnreadableCall{
		Event: call.Event.Name(), Thread: call.Thread(), Turn: call.TurnID, ID: call.ToolUseID, Tool: call.ToolName, Reason: err, Payload: call.Payload,
	})
	return problem.Text(err)
}

func (h *Hooks) answerCall(ctx context.Context, call *hook.Call, attended bool) hook.Answer {
	if call.Unreadable != nil {
		return h.answerUnreadable(ctx, call)
	}
	if call.Event == hook.PreToolUse {
		if refusal := h.Guard.StartCall(ctx, call.Thread(), call.TurnID, call.ToolUseID, call.TranscriptPath, call.Payload); refusal != "" {
			return hook.Answer{Decision: hook.Deny, Reason: refusal}
		}
		h.gate.Forget(call.Thread(), call.ToolUseID)
		h.questions.Started(call)
	}
	if !attended {
		return h.unattended.Answer(ctx, call)
	}
	return h.Answer.Answer(ctx, call)
}

// unattendedRules is rules for a turn whose client has gone: a call about which it would be asked is
// denied.
func (h *Hooks) unattendedRules(ctx context.Context, call *hook.Call) handlers.Ruling {
	return h.ruling(ctx, call, func(ctx context.Context, call *hook.Call, r guard.Ruling) hook.Answer {
		return DenyUnasked(ctx, h.Guard, call, errUnattended.Error(), r.Facts)
	})
}

// rules returns the decision of the policy's rules about a tool call.
func (h *Hooks) rules(ctx context.Context, call *hook.Call) handlers.Ruling {
	return h.ruling(ctx, call, h.askPeople)
}

// ruling returns the ruling of the policy about a call. Where people must decide, ask is called.
func (h *Hooks) ruling(ctx context.Context, call *hook.Call, ask func(context.Context, *hook.Call, guard.Ruling) hook.Answer) handlers.Ruling {
	if call.Event != hook.PreToolUse {
		return handlers.Ruling{}
	}
	use, err := UseOf(call)
	if err != nil {
		return handlers.Ruling{Refusal: h.RefuseUnreadable(ctx, call, err)}
	}
	r := h.Guard.Tool(ctx, call.Thread(), call.TurnID, use, call.Payload)
	ruling := handlers.Ruling{Refusal: r.Refusal}
	if len(r.Exceptions) > 0 {
		ruling.Passed = func(ctx context.Context, call *hook.Call) string {
			return h.Guard.RecordExceptions(ctx, call.Thread(), call.TurnID, call.Payload, r)
		}
	}
	if r.Ask || r.Approvers != nil {
		ruling.Asks = r.Asks()
		ruling.Person = func(ctx context.Context, call *hook.Call) hook.Answer { return ask(ctx, call, r) }
	}
	return ruling
}

// askPeople asks the person of the client, and the approvers of a rule.
func (h *Hooks) askPeople(ctx context.Context, call *hook.Call, r guard.Ruling) hook.Answer {
	if r.Ask {
		why := handlers.GateReason{Text: r.Why, Escalated: r.Leaves, Shell: r.Shell, Terms: r.AnswerTerms, Facts: r.Facts, Unasked: r.Unasked}
		if a := h.gate.Ask(ctx, call, why); a.Decision != "" {
			return a
		}
	}
	if r.Approvers == nil {
		return hook.Answer{}
	}
	if h.askDesk == nil {
		const why = "a second person must approve it, and this program has no approval desk"
		recordDenied(ctx, h.Guard, call, "approvals.desk", why, r.Facts)
		return hook.Answer{Decision: hook.Deny, Reason: why + ". " + hook.AdviceForModel}
	}
	return h.askDesk(ctx, h, call, r)
}

// confine keeps a command in the sandbox that the user's own Codex rules would let out.
func (h *Hooks) confine(ctx context.Context, call *hook.Call) (input json.RawMessage, refusal string) {
	use, err := UseOf(call)
	if err != nil {
		return nil, h.RefuseUnreadable(ctx, call, err)
	}
	return h.Guard.Confine(ctx, call.Thread(), call.TurnID, use, call.Payload)
}

// replaces returns why the input of a call must not be replaced.
func (h *Hooks) replaces(ctx context.Context, call *hook.Call) (refusal string) {
	use, err := UseOf(call)
	if err != nil {
		return h.RefuseUnreadable(ctx, call, err)
	}
	return h.Guard.RefuseReplacement(ctx, call.Thread(), call.TurnID, use, call.Payload)
}

// permits reports whether a hook's allow may keep Codex from asking the client.
func (h *Hooks) permits(ctx context.Context, call *hook.Call) bool {
	use, err := UseOf(call)
	return err == nil && h.Guard.Permits(ctx, call.Thread(), call.TurnID, use, call.Payload)
}

// UseOf returns a call as the policy sees it.
func UseOf(call *hook.Call) (toolcall.Call, error) {
	input, err := rpc.ParseValue(call.ToolInput)
	if err != nil {
		return toolcall.Call{}, fmt.Errorf("the input of %s can't be read: %w", call.ToolName, err)
	}
	return toolcall.Call{ID: call.ToolUseID, Name: call.ToolName, Input: input.Root(), Cwd: call.Cwd, Model: call.Model}, nil
}
