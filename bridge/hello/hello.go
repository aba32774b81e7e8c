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
const patience = 5 * time.Second

// Hello is a bridge.Feature.
type Hello struct {
	version string // of the bridge
	codex   func(context.Context) (string, error)
	guard   *guard.Guard
	peer    *bridge.Conn
	started time.Time
	log     *slog.Logger

	others []string              // methods that other features answer
	rows   map[string]func() any // what other features have for bridge/status

	offered atomic.Bool // the client knows the bridge
	elicits atomic.Bool // the client declared that it shows elicitations

	mu    sync.Mutex
	wants []string // the hooks that the client wants to be asked about
}

// Offer adds methods to the offer that others answer, for clients that are Known.
// Call it before the conversation starts.
func (h *Hello) Offer(methods ...string) { h.others = append(h.others, methods...) }

// Show has bridge/status show a state under a name. Call it before the conversation
// starts.
func (h *Hello) Show(name string, state func() any) {
	if h.rows == nil {
		h.rows = make(map[string]func() any)
	}
	h.rows[name] = state
}

// New makes a Hello. version is the bridge's own; codex returns that of the codex
// program, and is not called before somebody needs it.
func New(version string, codex func(context.Context) (string, error), g *guard.Guard, log *slog.Logger) *Hello {
	h := &Hello{version: version, codex: codex, guard: g, started: time.Now(), log: log}
	g.OnApplied(h.applied)
	return h
}

// Attach implements bridge.Attacher.
func (h *Hello) Attach(p *bridge.Conn) { h.peer = p }

// Routes implements bridge.Feature.
func (h *Hello) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "initialize", Why: "the offer of the bridge's own methods", HandleClient: h.initialize},
		{From: bridge.Client, Method: "bridge/status", Why: "answered here", HandleClient: h.own(h.status)},
		{From: bridge.Client, Method: "bridge/policy/explain", Why: "answered here", HandleClient: h.own(h.explain)},
	}
}

// ownMethods are what the answer to initialize lists.
var ownMethods = []string{"bridge/policy/explain", "bridge/status"}

func (h *Hello) initialize(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Truncated() {
		return rpc.Errorf(rpc.CodeTooLarge, "initialize has more values than are looked at; send less")
	}
	capabilities := call.Params.Get("capabilities")
	offer := capabilities.Get("bridge")
	offered := offer.Exists() // the message itself is gone when the answer comes
	elicits := declaresElicitations(capabilities)
	var wants []string
	for event := range offer.Get("hooks").Elements() {
		if name, ok := event.Text(); ok {
			wants = append(wants, name)
		}
	}
	if offered {
		if v := string(offer.Get("version").Raw()); v != "1" {
			return rpc.Errorf(rpc.CodeInvalidParams, "capabilities.bridge.version is %s, this bridge speaks %d", orNone(v), protocolVersion)
		}
		patch := rpc.NewPatch(call.Message)
		patch.Delete(capabilities, "bridge")
		m, err := rpc.ParseMessage(patch.Bytes())
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "initialize without capabilities.bridge: %v", err)
		}
		// Who comes after sees, and may rewrite, what is left.
		call.Message, call.Line = m, m.Bytes()
	}
	if h.guard.Enforces() {
		// The guard refuses a codex whose version is not known, or too old.
		if version, err := h.codex(ctx); err == nil && version != methods.Measured {
			h.log.Warn("this codex is not the one that the method table was measured on; what it has beyond that is unknown, see codex-bridge doctor",
				"codex", version, "measured", methods.Measured)
		}
	}
	if !offered && !elicits {
		return nil
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		result := a.Result()
		if result.Kind() != rpc.Object || a.Truncated() {
			return // codex refused, or is not itself
		}
		h.elicits.Store(elicits)
		if !offered {
			return
		}
		h.mu.Lock()
		h.wants = wants
		h.offered.Store(true)
		h.mu.Unlock()
		patch := rpc.NewEnvelopePatch(a.Envelope)
		patch.Set(result, "bridge", h.offer())
		a.Line = patch.Bytes()
	})
	return nil
}

func (h *Hello) offer() []byte {
	names := slices.Sorted(slices.Values(slices.Concat(ownMethods, h.others)))
	return encode(map[string]any{
		"version": protocolVersion, "name": "codex-bridge " + h.version, "methods": names,
		"policy": map[string]any{"mode": h.guard.Policy().Mode(), "gate": h.guard.Policy().Gates()},
	})
}

// own is a handler that answers here, for clients that know the bridge.
func (h *Hello) own(answer func(*bridge.ClientMessage) (any, *rpc.Error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if !h.Known() || call.Kind != rpc.Request {
			return nil
		}
		result, err := answer(call)
		if err != nil {
			return err
		}
		call.Reply(encode(result))
		return nil
	}
}

// Known tells whether the client knows the bridge.
func (h *Hello) Known() bool {
	return h.offered.Load()
}

func (h *Hello) status(*bridge.ClientMessage) (any, *rpc.Error) {
	rewritten, refused := h.guard.Counts()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	program := map[string]any{"pid": h.peer.CodexPID()}
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
	for name, state := range h.rows {
		status[name] = state()
	}
	return status, nil
}

// applied tells the client what the policy has made of a message.
func (h *Hello) applied(a guard.Applied) { h.Tell("bridge/policy/applied", a) }

// Exited sends bridge/upstream/exited: Codex has ended, though neither the client nor a signal asked for
// it. exitCode is null if a signal ended Codex.
func (h *Hello) Exited(state *os.ProcessState) {
	params := map[string]any{"exitCode": nil, "reason": state.String()}
	if state.Exited() {
		params["exitCode"] = state.ExitCode()
	}
	h.Tell("bridge/upstream/exited", params)
}

// Reloaded sends bridge/config/changed: the configuration files have changed. With err the changed
// configuration is not valid, and the old one stays effective.
func (h *Hello) Reloaded(err error) {
	params := map[string]any{"mode": h.guard.Policy().Mode(), "error": nil}
	if err != nil {
		params["error"] = err.Error()
	}
	h.Tell("bridge/config/changed", params)
}

// Tell sends a notification of the bridge's own to a client that knows it.
func (h *Hello) Tell(method string, params any) {
	if h.Known() {
		h.peer.Notify(method, params)
	}
}

// Wants tells whether the client wants to be asked about an event of Codex's hooks,
// preToolUse and so on.
func (h *Hello) Wants(event string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.wants, event)
}

// Hook asks the client about one run of a hook: bridge/hook.
func (h *Hello) Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error) {
	result, err := h.peer.CallClient(ctx, "bridge/hook", map[string]any{"event": event, "payload": payload})
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
func (h *Hello) ShowsElicitations() bool { return h.elicits.Load() }

// ElicitationServer is the serverName of the bridge's own elicitations.
const ElicitationServer = "codex-bridge"

// Elicit asks the client for a yes or no, as a form without fields. The client is told when the question is settled.
func (h *Hello) Elicit(ctx context.Context, thread, message string) (json.RawMessage, error) {
	result, err := h.peer.AskUser(ctx, thread, "mcpServer/elicitation/request", map[string]any{
		"threadId": thread, "turnId": nil, "serverName": ElicitationServer, "mode": "form", "message": message,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
	return result.Raw(), err
}

// explain says what the policy makes of {message: …}, as it would arrive now.
func (h *Hello) explain(call *bridge.ClientMessage) (any, *rpc.Error) {
	message := call.Params.Get("message")
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
