package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/hello"
	"codex-bridge/bridge/policy"
	"codex-bridge/relay/approvals"
	"codex-bridge/relay/gate"
	"codex-bridge/relay/handlers"
	"codex-bridge/relay/hook"
	"codex-bridge/relay/inject"
	"codex-bridge/rpc"
)

// hookStatus is what Codex shows while a hook of ours runs.
const hookStatus = "codex-bridge"

// hooks relays Codex's hooks. It selects the hooks of a thread, owns the socket that the hook
// processes connect to, and answers them.
type hooks struct {
	guard   *guard.Guard
	hello   *hello.Hello
	answer  *handlers.Chain
	gate    *gate.Gate
	inject  *inject.Feature
	limiter *approvals.Limiter // of questions to the user, shared by hooks and approvals
	log     *slog.Logger
	config  atomic.Pointer[config.Config]
	socket  func() (folder string, err error) // of the configuration at the start, whose folder the guard keeps from commands

	mu     sync.Mutex
	server *hook.Server // nil: no thread has needed it yet
}

func newHooks(cfg *config.Config, g *guard.Guard, hi *hello.Hello, log *slog.Logger) (*hooks, []bridge.Feature) {
	h := &hooks{guard: g, hello: hi, limiter: approvals.NewLimiter(), log: log}
	h.config.Store(cfg)
	h.socket = sync.OnceValues(func() (string, error) { return socketFolder(guard.WorldOf(cfg.Codex)) })
	h.answer = handlers.New(handlers.Options{
		Hooks: cfg.Hooks, Rules: h.rules, Confine: h.confine, Permits: h.permits, Client: hi, Dir: g.Workspace, Limiter: h.limiter, Log: log,
	})
	w := newEventStatus(hi)
	f := inject.New(inject.Options{
		Plan:    h.plan,
		Mode:    func() config.Mode { return g.Policy().Mode() },
		Observe: func(inject.State) { w.notify() },
		Log:     log,
	})
	w.addStatus(f)
	h.inject = f
	return h, []bridge.Feature{f, w.feature()}
}

// setConfig applies a changed configuration: to answers at once, to installed hooks when the
// next thread is opened.
func (h *hooks) setConfig(cfg *config.Config) {
	h.config.Store(cfg)
	h.answer.SetConfig(cfg.Hooks)
}

// approvals returns the section [approvals] of the current configuration.
func (h *hooks) approvals() config.Approvals { return h.config.Load().Approvals }

// thread returns the section [thread] of the current configuration.
func (h *hooks) thread() config.Thread { return h.config.Load().Thread }

// steering returns the section [steering] of the current configuration.
func (h *hooks) steering() config.Steering { return h.config.Load().Steering }

// plan returns the hooks to install in a thread, or nil if hooks are off.
func (h *hooks) plan(approval rpc.Value) (*inject.Plan, error) {
	cfg := h.config.Load().Hooks
	if !cfg.On {
		return nil, nil
	}
	server, err := h.listen()
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
		Events: inject.SelectEvents(events, approval), IsIdle: h.isIdle, Timeout: time.Duration(cfg.Timeout), Status: hookStatus,
	}
	if h.guard.Policy().GateEnabled() {
		plan.PersonTimeout = time.Duration(h.approvals().Timeout)
	}
	allow := cfg.OnFailure == "allow"
	plan.Command = func(e hook.Event) string { return server.Command(self, e, plan.Limit(e), allow) }
	return plan, nil
}

// isIdle reports whether an event that decides nothing has neither a handler nor a client that
// wants it. Events that decide are never idle: the rules may change at any time.
func (h *hooks) isIdle(e hook.Event) bool {
	if e.Decides() || h.hello.Wants(handlers.ClientName(e)) {
		return false
	}
	return !slices.ContainsFunc(h.config.Load().Hooks.Handlers, func(one config.Handler) bool { return one.Event == string(e) })
}

// listen returns the server of the socket, and starts it on the first call.
func (h *hooks) listen() (*hook.Server, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server != nil {
		return h.server, nil
	}
	folder, err := h.socket()
	if err != nil {
		return nil, err
	}
	h.server, err = hook.Listen(hook.Options{Folder: folder, Decide: h.decide, Log: h.log})
	return h.server, err
}

// decide answers one run of a hook.
func (h *hooks) decide(ctx context.Context, call *hook.Call) hook.Answer {
	if call.Event == hook.PreToolUse {
		if refusal := h.guard.StartCall(ctx, call.Thread(), call.TurnID, call.ToolUseID, call.TranscriptPath, call.Payload); refusal != "" {
			return hook.Answer{Decision: hook.Deny, Reason: refusal}
		}
		h.gate.Forget(call.Thread(), call.ToolUseID)
	}
	return h.answer.Answer(ctx, call)
}

// Close closes the socket, if it was opened.
func (h *hooks) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		return nil
	}
	return h.server.Close()
}

// rules returns the decision of the policy's rules about a tool call.
func (h *hooks) rules(ctx context.Context, call *hook.Call) handlers.Ruling {
	if call.Event != hook.PreToolUse {
		return handlers.Ruling{}
	}
	use, err := useOf(call)
	if err != nil {
		return handlers.Ruling{Refusal: err.Error()}
	}
	r := h.guard.Tool(ctx, call.Thread(), call.TurnID, use, call.Payload)
	ruling := handlers.Ruling{Refusal: r.Refusal}
	if r.Ask {
		ruling.Person = func(ctx context.Context, call *hook.Call) hook.Answer {
			return h.gate.Ask(ctx, call, gate.Reason{Text: r.Why, Escalated: r.Leaves, Shell: r.Shell})
		}
	}
	return ruling
}

// confine keeps a command in the sandbox that the user's own Codex rules would let out.
func (h *hooks) confine(ctx context.Context, call *hook.Call) (input json.RawMessage, refusal string) {
	use, err := useOf(call)
	if err != nil {
		return nil, err.Error()
	}
	return h.guard.Confine(ctx, call.Thread(), call.TurnID, use, call.Payload)
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
