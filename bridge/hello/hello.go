// Package hello is what an editor that knows the bridge may use of it: the offer
// in initialize, bridge/status and bridge/policy/explain (contract, section 3).
//
// A client that offers nothing sees nothing of this: its initialize passes as it
// came, and a bridge/… request goes to codex, which does not know it.
package hello

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
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/methods"
	"codex-bridge/rpc"
)

// protocolVersion is the version of the bridge's own methods.
const protocolVersion = 1

// patience is how long bridge/status waits for codex's version, which takes some 0.2 s
// and is known by then where a policy enforces.
const versionTimeout = 5 * time.Second

// Hello is a bridge.Feature.
type Hello struct {
	version string // of the bridge
	codex   func(context.Context) (string, error)
	guard   *guard.Guard
	conn    *bridge.Conn
	started time.Time
	log     *slog.Logger

	methods []string              // methods that other features answer
	states  map[string]func() any // what other features have for bridge/status

	known        atomic.Bool // the client knows the bridge
	elicitations atomic.Bool // the client declared that it shows elicitations

	mu    sync.Mutex
	hooks []string // the hooks that the client wants to be asked about
}

// Offer adds methods to the offer that others answer, for clients that are Known.
// Call it before the conversation starts.
func (h *Hello) AddMethods(methods ...string) { h.methods = append(h.methods, methods...) }

// Show has bridge/status show a state under a name. Call it before the conversation
// starts.
func (h *Hello) AddStatus(name string, state func() any) {
	if h.states == nil {
		h.states = make(map[string]func() any)
	}
	h.states[name] = state
}

// New makes a Hello. version is the bridge's own; codex returns that of the codex
// program, and is not called before somebody needs it.
func New(version string, codex func(context.Context) (string, error), g *guard.Guard, log *slog.Logger) *Hello {
	h := &Hello{version: version, codex: codex, guard: g, started: time.Now(), log: log}
	g.OnApplied(h.notifyApplied)
	return h
}

// Attach implements bridge.Attacher.
func (h *Hello) Attach(p *bridge.Conn) { h.conn = p }

// Routes implements bridge.Feature.
func (h *Hello) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "initialize", Why: "the offer of the bridge's own methods", HandleClient: h.initialize},
		{From: bridge.Client, Method: "bridge/status", Why: "answered here", HandleClient: h.handler(h.status)},
		{From: bridge.Client, Method: "bridge/policy/explain", Why: "answered here", HandleClient: h.handler(h.explain)},
	}
}

// ownMethods are what the answer to initialize lists.
var builtinMethods = []string{"bridge/policy/explain", "bridge/status"}

func (h *Hello) initialize(ctx context.Context, msg *bridge.ClientMessage) *rpc.Error {
	if msg.Truncated() {
		return rpc.Errorf(rpc.CodeTooLarge, "initialize has more values than are looked at; send less")
	}
	capabilities := msg.Params.Get("capabilities")
	offer := capabilities.Get("bridge")
	known := offer.Exists() // the message itself is gone when the answer comes
	elicitations := declaresElicitations(capabilities)
	var hooks []string
	for event := range offer.Get("hooks").Elements() {
		if name, ok := event.Text(); ok {
			hooks = append(hooks, name)
		}
	}
	if known {
		if v := string(offer.Get("version").Raw()); v != "1" {
			return rpc.Errorf(rpc.CodeInvalidParams, "capabilities.bridge.version is %s, this bridge speaks %d", orNone(v), protocolVersion)
		}
		patch := rpc.NewPatch(msg.Message)
		patch.Delete(capabilities, "bridge")
		m, err := rpc.ParseMessage(patch.Bytes())
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "initialize without capabilities.bridge: %v", err)
		}
		// Who comes after sees, and may rewrite, what is left.
		msg.Message, msg.Line = m, m.Bytes()
	}
	if h.guard.Enforces() {
		// The guard refuses a codex whose version is not known, or too old.
		if version, err := h.codex(ctx); err == nil && version != methods.Measured {
			h.log.Warn("this codex is not the one that the method table was measured on; what it has beyond that is unknown, see codex-bridge doctor",
				"codex", version, "measured", methods.Measured)
		}
	}
	if !known && !elicitations {
		return nil
	}
	msg.OnResponse(func(a *bridge.ServerResponse) {
		result := a.Result()
		if result.Kind() != rpc.Object || a.Truncated() {
			return // codex refused, or is not itself
		}
		h.elicitations.Store(elicitations)
		if !known {
			return
		}
		h.mu.Lock()
		h.hooks = hooks
		h.known.Store(true)
		h.mu.Unlock()
		patch := rpc.NewEnvelopePatch(a.Envelope)
		patch.Set(result, "bridge", h.response())
		a.Line = patch.Bytes()
	})
	return nil
}

func (h *Hello) response() []byte {
	names := slices.Sorted(slices.Values(slices.Concat(builtinMethods, h.methods)))
	return encode(map[string]any{
		"version": protocolVersion, "name": "codex-bridge " + h.version, "methods": names,
		"policy": map[string]any{"mode": h.guard.Policy().Mode(), "gate": h.guard.Policy().Gates()},
	})
}

// own is a handler that answers here, for clients that know the bridge.
func (h *Hello) handler(f func(*bridge.ClientMessage) (any, *rpc.Error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(_ context.Context, msg *bridge.ClientMessage) *rpc.Error {
		if !h.KnowsBridge() || msg.Kind != rpc.Request {
			return nil
		}
		result, err := f(msg)
		if err != nil {
			return err
		}
		msg.Reply(encode(result))
		return nil
	}
}

// Known tells whether the client knows the bridge.
func (h *Hello) KnowsBridge() bool {
	return h.known.Load()
}

func (h *Hello) status(*bridge.ClientMessage) (any, *rpc.Error) {
	rewritten, refused := h.guard.Counts()
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	program := map[string]any{"pid": h.conn.CodexPID()}
	version, err := h.codex(ctx)
	if program["version"] = version; err != nil {
		program["fault"] = err.Error()
	}
	status := map[string]any{
		"version":  h.version,
		"codex":    program,
		"policy":   map[string]any{"mode": h.guard.Policy().Mode(), "gate": h.guard.Policy().Gates(), "rewritten": rewritten, "refused": refused},
		"hooks":    map[string]any{"active": false, "reason": "no hooks are configured"},
		"tools":    []string{},
		"threads":  0,
		"uptimeMs": time.Since(h.started).Milliseconds(),
	}
	for name, state := range h.states {
		status[name] = state()
	}
	return status, nil
}

// applied tells the client what the policy has made of a message.
func (h *Hello) notifyApplied(a guard.Applied) { h.Notify("bridge/policy/applied", a) }

// Exited sends bridge/upstream/exited: Codex has ended, though neither the client nor a signal asked for
// it. exitCode is null if a signal ended Codex.
func (h *Hello) NotifyExited(state *os.ProcessState) {
	params := map[string]any{"exitCode": nil, "reason": state.String()}
	if state.Exited() {
		params["exitCode"] = state.ExitCode()
	}
	h.Notify("bridge/upstream/exited", params)
}

// Reloaded sends bridge/config/changed: the configuration files have changed. With err the changed
// configuration is not valid, and the old one stays effective.
func (h *Hello) NotifyReloaded(err error) {
	params := map[string]any{"mode": h.guard.Policy().Mode(), "error": nil}
	if err != nil {
		params["error"] = err.Error()
	}
	h.Notify("bridge/config/changed", params)
}

// Tell sends a notification of the bridge's own to a client that knows it.
func (h *Hello) Notify(method string, params any) {
	if h.KnowsBridge() {
		h.conn.Notify(method, params)
	}
}

// Wants tells whether the client wants to be asked about an event of Codex's hooks,
// preToolUse and so on.
func (h *Hello) Wants(event string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.hooks, event)
}

// Hook asks the client about one run of a hook: bridge/hook.
func (h *Hello) Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error) {
	result, err := h.conn.CallClient(ctx, "bridge/hook", map[string]any{"event": event, "payload": payload})
	return result.Raw(), err
}

// declaresElicitations reports whether capabilities of initialize say that the client shows elicitations of MCP servers.
// Codex sends plain forms to every client (measured with 0.169), so that only these declarations tell: of the extension
// openai/form, in its two forms, and of the bridge's own capability.
func declaresElicitations(capabilities rpc.Value) bool {
	legacy, _ := capabilities.Get("mcpServerOpenaiFormElicitation").Bool()
	own, _ := capabilities.Get("bridge").Get("elicitations").Bool()
	return legacy || own || capabilities.Get("extensions").Get("openai/form").Kind() == rpc.Object
}

// ShowsElicitations reports whether the client declared that it shows elicitations of MCP servers.
func (h *Hello) ShowsElicitations() bool { return h.elicitations.Load() }

// ElicitationServer is the serverName of the bridge's own elicitations.
const ElicitationServer = "codex-bridge"

// Elicit asks the client for a yes or no, as a form without fields. The client is told when the question is settled.
func (h *Hello) Elicit(ctx context.Context, thread, message string) (json.RawMessage, error) {
	result, err := h.conn.AskUser(ctx, thread, "mcpServer/elicitation/request", map[string]any{
		"threadId": thread, "turnId": nil, "serverName": ElicitationServer, "mode": "form", "message": message,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
	return result.Raw(), err
}

// explain says what the policy makes of {message: …}, as it would arrive now.
func (h *Hello) explain(msg *bridge.ClientMessage) (any, *rpc.Error) {
	message := msg.Params.Get("message")
	if message.Kind() != rpc.Object {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.message is %v; give the message to be explained, an object", message.Kind())
	}
	m, err := rpc.ParseMessage(message.Raw())
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.message: %v", err)
	}
	return h.guard.Explain(m), nil
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("hello: %v", err)) // the bridge's own values always have a JSON form
	}
	return raw
}

func orNone(text string) string {
	if text == "" {
		return "not there"
	}
	return text
}
