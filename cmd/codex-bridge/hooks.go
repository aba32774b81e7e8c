package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/desk"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

// hookStatus is what Codex shows while a hook of ours runs.
const hookStatus = "codex-bridge"

// hooks relays Codex's hooks for one client. It selects the hooks of a thread, and answers them.
type hooks struct {
	guard  *guard.Guard
	hello  *hello.Hello
	answer *handlers.Chain
	// unattended answers hooks of turns whose client has gone.
	unattended *handlers.Chain
	gate       *handlers.Gate
	questions  *approvals.Feature
	desk       *desk.Desk
	inject     *inject.Feature
	socket     *hookSocket
	starts     *programStarts
	limiter    *approvals.Limiter // of questions to the user, shared by hooks and approvals
	config     atomic.Pointer[config.Config]
}

// newHooks returns the hooks of a client, and their features. parts are shared with other clients of the
// same Codex.
func newHooks(cfg *config.Config, parts *sharedParts, g *guard.Guard, hi *hello.Hello, client *serve.Client, log *slog.Logger) (*hooks, []bridge.Feature) {
	h := &hooks{guard: g, hello: hi, limiter: parts.limiter, socket: parts.socket, starts: parts.starts}
	h.config.Store(cfg)
	o := handlers.Options{
		Hooks: cfg.Hooks, Rules: h.rules, Confine: h.confine, Replaces: h.replaces, Permits: h.permits, Consents: h.consents, AsksPermission: h.asksPermission, Client: hi, Dir: g.Workspace, CheckFiles: g.CheckScripts, Failed: h.failed, Denied: h.denied, Limiter: h.limiter, Log: log,
	}
	h.answer = handlers.New(o)
	o.Rules, o.Client = h.unattendedRules, noClient{}
	h.unattended = handlers.New(o)
	w := newEventStatus(hi)
	options := inject.Options{
		Plan:    h.plan,
		Mode:    func() config.Mode { return g.Policy().Mode() },
		Observe: func(inject.State) { w.notify() },
		Failed:  g.FailedHook, Unanswered: g.UnansweredHook,
		Refuse: g.RefuseUnhooked,
		Log:    log,
	}
	if client != nil {
		options.IsShared = client.IsShared
	}
	f := parts.inject.Join(options)
	w.addStatus(f)
	h.inject = f
	g.SetOtherHooks(f.OtherHooks, inject.Source)
	return h, []bridge.Feature{f, w.feature()}
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
func (h *hooks) failed(ctx context.Context, call *hook.Call, reason string) {
	h.guard.FailedHandler(ctx, call.Thread(), call.TurnID, handlers.ClientName(call.Event), reason)
}

// denied logs the denial of a handler, or of the bridge for want of an answer.
func (h *hooks) denied(ctx context.Context, call *hook.Call, reason string) {
	recordDenied(ctx, h.guard, call, "hooks.handler", reason, "")
}

// recordDenied logs that a call is denied that no rule of the policy has denied. facts are those of the decision to
// ask about it; "": unknown.
func recordDenied(ctx context.Context, g *guard.Guard, call *hook.Call, rule, reason, facts string) {
	g.RecordDenied(ctx, guard.DeniedCall{
		Event: handlers.ClientName(call.Event), Thread: call.Thread(), Turn: call.TurnID, ID: call.ToolUseID, Payload: call.Payload,
		Rule: rule, Reason: reason, Facts: facts,
	})
}

// denyUnasked denies a call about which no person can be asked, and logs that. Denials without a gate, a handler or
// a rule are made here alone, so each has an entry in the decision log.
func denyUnasked(ctx context.Context, g *guard.Guard, call *hook.Call, why, facts string) hook.Answer {
	if !call.Event.Decides() {
		return hook.Answer{}
	}
	recordDenied(ctx, g, call, "approvals.nobody", why, facts)
	return hook.Answer{Decision: hook.Deny, Reason: handlers.NobodyAsked + why + ". " + hook.AdviceForModel}
}

// setConfig applies a changed configuration: to answers at once, to installed hooks when the
// next thread is opened.
func (h *hooks) setConfig(cfg *config.Config) {
	h.config.Store(cfg)
	h.answer.SetConfig(cfg.Hooks)
	h.unattended.SetConfig(cfg.Hooks)
}

// approvals returns the section [approvals] of the current configuration.
func (h *hooks) approvals() config.Approvals { return h.config.Load().Approvals }

// thread returns the section [thread] of the current configuration.
func (h *hooks) thread() config.Thread { return h.config.Load().Thread }

// steering returns the section [steering] of the current configuration.
func (h *hooks) steering() config.Steering { return h.config.Load().Steering }

// plan returns the hooks to install in a thread, or nil if hooks are off. A policy that is enforced has them
// even before setConfig: a change of the configuration replaces the policy first.
func (h *hooks) plan(approval rpc.Value) (*inject.Plan, error) {
	cfg := h.config.Load().Hooks
	if !cfg.On && !h.guard.Enforces() {
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
		Events: inject.SelectEvents(events, approval), IsIdle: h.isIdle, Matchers: make(map[hook.Event]string), Timeout: time.Duration(cfg.Timeout), Status: hookStatus,
	}
	if h.guard.Enforces() && !slices.Contains(events, hook.PermissionRequest) {
		// Which tools it is for must not depend on the thread: Codex keeps the hooks of a loaded thread.
		plan.Matchers[hook.PermissionRequest] = mcpTools
		if !slices.Contains(plan.Events, hook.PermissionRequest) {
			plan.Events = append(slices.Clone(plan.Events), hook.PermissionRequest)
		}
	}
	if h.starts.supervisor != nil && (!slices.Contains(plan.Events, hook.PostToolUse) || h.isUnwanted(hook.PostToolUse)) {
		plan.Matchers[hook.PostToolUse] = shellTool // for refused programs alone
		if !slices.Contains(plan.Events, hook.PostToolUse) {
			plan.Events = append(slices.Clone(plan.Events), hook.PostToolUse)
		}
	}
	if h.guard.Policy().GateEnabled() {
		plan.PersonTimeout = time.Duration(h.approvals().Timeout)
	}
	if d := h.approvals().Desk; len(d.Groups) > 0 {
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
func (h *hooks) consents(ctx context.Context, call *hook.Call) bool {
	return h.questions.Consents(ctx, call)
}

// asksPermission reports whether handlers and the client are consulted about a PermissionRequest.
func (h *hooks) asksPermission(call *hook.Call) bool {
	return !h.guard.Enforces() || slices.Contains(h.config.Load().Hooks.Events, string(hook.PermissionRequest)) ||
		h.guard.AsksNothing(call.Thread(), call.TurnID)
}

// isIdle reports whether an event has nothing to do. Events that decide are never idle: the rules may change at any
// time. Neither is the one by which the model learns of refused programs.
func (h *hooks) isIdle(e hook.Event) bool {
	return !e.Decides() && h.isUnwanted(e) && (e != hook.PostToolUse || h.starts.supervisor == nil)
}

// isUnwanted reports whether an event has neither a handler nor a client that wants it.
func (h *hooks) isUnwanted(e hook.Event) bool {
	return !h.hello.Wants(handlers.ClientName(e)) && !slices.ContainsFunc(h.config.Load().Hooks.Handlers, func(one config.Handler) bool { return one.Event == string(e) })
}

// decide answers one run of a hook, and tells the user if the call is refused, unless the user has
// declined it. attended is false if the client that began the turn has gone.
func (h *hooks) decide(ctx context.Context, call *hook.Call, attended bool) hook.Answer {
	a := h.answerCall(ctx, call, attended)
	if a.Decision == hook.Deny && !a.Declined {
		what := call.ToolName
		if use, err := useOf(call); err == nil && call.Unreadable == nil {
			what = use.Summary()
		}
		h.guard.WarnRefusedCall(call.Thread(), call.TurnID, call.ToolUseID, what, a.ReasonForUser())
	}
	if call.Event == hook.PreToolUse && a.Decision != hook.Deny {
		runs := *call
		if a.Input != nil {
			runs.ToolInput = a.Input
		}
		if use, err := useOf(&runs); err == nil {
			h.guard.JudgedCall(call.Thread(), call.TurnID, use)
			h.starts.announce(call, use, h)
		}
	}
	if call.Event == hook.PostToolUse {
		a.Context = h.starts.programs.Result(call)
	}
	return a
}

// answerUnreadable denies a call that the bridge can't read. After a call, and at the end of a turn, the user
// reads that no handler was asked.
func (h *hooks) answerUnreadable(ctx context.Context, call *hook.Call) hook.Answer {
	if call.Event.Decides() {
		h.refuseUnreadable(ctx, call, call.Unreadable)
	} else if !h.isUnwanted(call.Event) {
		h.failed(ctx, call, fmt.Sprintf("the hook %s asked no handler: %v", call.Event, call.Unreadable))
	}
	return hook.FailureAnswer(call.Event, call.Unreadable.Error())
}

// refuseUnreadable logs that a call is denied since the bridge can't read it, and returns the reason.
func (h *hooks) refuseUnreadable(ctx context.Context, call *hook.Call, err error) (refusal string) {
	h.guard.RefuseUnreadable(ctx, guard.UnreadableCall{
		Event: call.Event.Name(), Thread: call.Thread(), Turn: call.TurnID, ID: call.ToolUseID, Tool: call.ToolName, Reason: err, Payload: call.Payload,
	})
	return problem.Text(err)
}

func (h *hooks) answerCall(ctx context.Context, call *hook.Call, attended bool) hook.Answer {
	if call.Unreadable != nil {
		return h.answerUnreadable(ctx, call)
	}
	if call.Event == hook.PreToolUse {
		if refusal := h.guard.StartCall(ctx, call.Thread(), call.TurnID, call.ToolUseID, call.TranscriptPath, call.Payload); refusal != "" {
			return hook.Answer{Decision: hook.Deny, Reason: refusal}
		}
		h.gate.Forget(call.Thread(), call.ToolUseID)
		h.questions.Started(call)
	}
	if !attended {
		return h.unattended.Answer(ctx, call)
	}
	return h.answer.Answer(ctx, call)
}

// unattendedRules is rules for a turn whose client has gone: a call about which it would be asked is
// denied.
func (h *hooks) unattendedRules(ctx context.Context, call *hook.Call) handlers.Ruling {
	return h.ruling(ctx, call, func(ctx context.Context, call *hook.Call, r guard.Ruling) hook.Answer {
		return denyUnasked(ctx, h.guard, call, errUnattended.Error(), r.Facts)
	})
}

// hookSocket is the socket that the hook processes connect to. The clients of one Codex share it.
type hookSocket struct {
	folder func() (string, error)
	// decide answers one run of a hook. It is set before the first call of listen.
	decide func(context.Context, *hook.Call) hook.Answer
	log    *slog.Logger

	mu     sync.Mutex
	server *hook.Server // nil: no thread has needed it yet
}

// newHookSocket returns the socket of the configuration at the start, whose folder the guard keeps from
// commands.
func newHookSocket(cfg *config.Config, log *slog.Logger) *hookSocket {
	return &hookSocket{folder: sync.OnceValues(func() (string, error) { return setup.SocketFolder(guard.WorldOf(cfg.Codex)) }), log: log}
}

// listen returns the server of the socket, and starts it on the first call.
func (s *hookSocket) listen() (*hook.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return s.server, nil
	}
	folder, err := s.folder()
	if err != nil {
		return nil, err
	}
	s.server, err = hook.Listen(hook.Options{Folder: folder, Decide: s.decide, Log: s.log})
	return s.server, err
}

// isCommand reports whether a line of Codex may start a hook of the bridge.
func (s *hookSocket) isCommand(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server != nil && s.server.IsCommand(line)
}

// Close closes the socket, if it was opened.
func (s *hookSocket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}

// rules returns the decision of the policy's rules about a tool call.
func (h *hooks) rules(ctx context.Context, call *hook.Call) handlers.Ruling {
	return h.ruling(ctx, call, h.askPeople)
}

// ruling returns the ruling of the policy about a call. Where people must decide, ask is called.
func (h *hooks) ruling(ctx context.Context, call *hook.Call, ask func(context.Context, *hook.Call, guard.Ruling) hook.Answer) handlers.Ruling {
	if call.Event != hook.PreToolUse {
		return handlers.Ruling{}
	}
	use, err := useOf(call)
	if err != nil {
		return handlers.Ruling{Refusal: h.refuseUnreadable(ctx, call, err)}
	}
	r := h.guard.Tool(ctx, call.Thread(), call.TurnID, use, call.Payload)
	ruling := handlers.Ruling{Refusal: r.Refusal}
	if len(r.Exceptions) > 0 {
		ruling.Passed = func(ctx context.Context, call *hook.Call) string {
			return h.guard.RecordExceptions(ctx, call.Thread(), call.TurnID, call.Payload, r)
		}
	}
	if r.Ask || r.Approvers != nil {
		ruling.Asks = r.Asks()
		ruling.Person = func(ctx context.Context, call *hook.Call) hook.Answer { return ask(ctx, call, r) }
	}
	return ruling
}

// askPeople asks the person of the client, and the approvers of a rule.
func (h *hooks) askPeople(ctx context.Context, call *hook.Call, r guard.Ruling) hook.Answer {
	if r.Ask {
		why := handlers.GateReason{Text: r.Why, Escalated: r.Leaves, Shell: r.Shell, Terms: r.AnswerTerms, Facts: r.Facts, Unasked: r.Unasked}
		if a := h.gate.Ask(ctx, call, why); a.Decision != "" {
			return a
		}
	}
	if r.Approvers == nil {
		return hook.Answer{}
	}
	return h.askDesk(ctx, call, r)
}

// confine keeps a command in the sandbox that the user's own Codex rules would let out.
func (h *hooks) confine(ctx context.Context, call *hook.Call) (input json.RawMessage, refusal string) {
	use, err := useOf(call)
	if err != nil {
		return nil, h.refuseUnreadable(ctx, call, err)
	}
	return h.guard.Confine(ctx, call.Thread(), call.TurnID, use, call.Payload)
}

// replaces returns why the input of a call must not be replaced.
func (h *hooks) replaces(ctx context.Context, call *hook.Call) (refusal string) {
	use, err := useOf(call)
	if err != nil {
		return h.refuseUnreadable(ctx, call, err)
	}
	return h.guard.RefuseReplacement(ctx, call.Thread(), call.TurnID, use, call.Payload)
}

// permits reports whether a hook's allow may keep Codex from asking the client.
func (h *hooks) permits(ctx context.Context, call *hook.Call) bool {
	use, err := useOf(call)
	return err == nil && h.guard.Permits(ctx, call.Thread(), call.TurnID, use, call.Payload)
}

func useOf(call *hook.Call) (policy.ToolCall, error) {
	input, err := rpc.ParseValue(call.ToolInput)
	if err != nil {
		return policy.ToolCall{}, fmt.Errorf("the input of %s can't be read: %w", call.ToolName, err)
	}
	return policy.ToolCall{ID: call.ToolUseID, Name: call.ToolName, Input: input.Root(), Cwd: call.Cwd, Model: call.Model}, nil
}
