// Package hello implements the bridge's own capability for editors: the offer in initialize,
// bridge/status and bridge/policy/explain.
//
// A client without capabilities.bridge sees nothing of it: initialize passes unchanged, and a
// bridge/… request goes to Codex, which does not know it. A Hello may be used concurrently.
package hello

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/rpc"
)

// protocolVersion is the version of the bridge/… methods.
const protocolVersion = 1

// versionTimeout is how long bridge/status and logVersion wait for Codex's version. Under enforce it is
// mostly known from the response to initialize; codex --version takes some 0.2 s.
const versionTimeout = 5 * time.Second

// Hello is a bridge.Feature.
type Hello struct {
	version string // of the bridge
	codex   func(context.Context) (string, error)
	guard   *guard.Guard
	conn    *bridge.Conn
	started time.Time
	log     *slog.Logger

	methods []string              // of other features
	states  map[string]func() any // members of bridge/status, by name

	known        atomic.Bool // the client offered capabilities.bridge
	elicitations atomic.Bool // the client declared that it shows elicitations

	mu    sync.Mutex
	hooks []string // events for which the client wants bridge/hook
}

// AddMethods adds methods of other features to the offer. It must be called before the
// conversation starts.
func (h *Hello) AddMethods(methods ...string) { h.methods = append(h.methods, methods...) }

// AddStatus adds a member to bridge/status. It must be called before the conversation starts.
func (h *Hello) AddStatus(name string, state func() any) {
	if h.states == nil {
		h.states = make(map[string]func() any)
	}
	h.states[name] = state
}

// New returns a Hello. version is that of the bridge; codex returns the version of Codex, and is
// called only when it is needed.
func New(version string, codex func(context.Context) (string, error), g *guard.Guard, log *slog.Logger) *Hello {
	h := &Hello{version: version, codex: codex, guard: g, started: time.Now(), log: log}
	g.OnApplied(h.notifyApplied)
	g.SetKnowsBridge(h.KnowsBridge)
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

// Stage implements bridge.Feature.
func (*Hello) Stage() bridge.Stage { return bridge.BeforeGuard }

// builtinMethods are the methods of this package.
var builtinMethods = []string{"bridge/policy/explain", "bridge/status"}

func (h *Hello) initialize(_ context.Context, msg *bridge.ClientMessage) *rpc.Error {
	if msg.Truncated() {
		return rpc.Errorf(rpc.CodeTooLarge, "initialize has too many values; send less")
	}
	capabilities := msg.Params.Get("capabilities")
	offer := capabilities.Get("bridge")
	known := offer.Exists() // the message is not valid when the response comes
	elicitations := declaresElicitations(capabilities)
	var hooks []string
	for event := range offer.Get("hooks").Elements() {
		if name, ok := event.Text(); ok {
			hooks = append(hooks, name)
		}
	}
	if known {
		if v := string(offer.Get("version").Raw()); v != "1" {
			return rpc.Errorf(rpc.CodeInvalidParams, "capabilities.bridge.version is %s; this bridge supports %d", orNone(v), protocolVersion)
		}
		patch := rpc.NewPatch(msg.Message)
		patch.Delete(capabilities, "bridge")
		m, err := rpc.ParseMessage(patch.Bytes())
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "initialize without capabilities.bridge: %v", err)
		}
		// Later features may rewrite the new message.
		msg.Message, msg.Line = m, m.Bytes()
	}
	if h.guard.Enforces() {
		msg.OnResponse(func(a *bridge.ServerResponse) {
			if a.Envelope != nil {
				a.AfterHandlers(h.logVersion) // the guard has read the version then
			}
		})
	}
	if !known && !elicitations {
		return nil
	}
	msg.OnResponse(func(a *bridge.ServerResponse) {
		result := a.Result()
		if result.Kind() != rpc.Object || a.Truncated() {
			return // Codex returned an error, or an unexpected result
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

// logVersion logs that Codex is newer than the tested one. It is no warning, since the guard tells the user once for
// each release. The guard refuses a Codex whose version is unknown or too old.
func (h *Hello) logVersion() {
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	if version, err := h.codex(ctx); err == nil && codex.CompareVersions(version, methods.Measured) > 0 {
		h.log.Info("this codex is newer than the method table; its new methods are unknown, see codex-bridge doctor",
			"codex", version, "known", methods.Measured)
	}
}

func (h *Hello) response() []byte {
	names := slices.DeleteFunc(slices.Sorted(slices.Values(slices.Concat(builtinMethods, h.methods))), h.guard.RefusesMethod)
	return rpc.Encode(map[string]any{
		"version": protocolVersion, "name": "codex-bridge " + h.version, "methods": names,
		"policy": map[string]any{"mode": h.guard.Policy().Mode(), "gate": h.guard.Policy().GateEnabled()},
	})
}

// handler returns a handler that replies in place of Codex to clients that know the bridge.
func (h *Hello) handler(f func(context.Context, *bridge.ClientMessage) (any, *rpc.Error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(ctx context.Context, msg *bridge.ClientMessage) *rpc.Error {
		if !h.KnowsBridge() || msg.Kind != rpc.Request {
			return nil
		}
		result, err := f(ctx, msg)
		if err != nil {
			return err
		}
		msg.Reply(rpc.Encode(result))
		return nil
	}
}

// KnowsBridge reports whether the client has offered capabilities.bridge.
func (h *Hello) KnowsBridge() bool {
	return h.known.Load()
}

func (h *Hello) status(context.Context, *bridge.ClientMessage) (any, *rpc.Error) {
	rewritten, refused := h.guard.Counts()
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	program := map[string]any{"pid": h.conn.CodexPID(), "tested": methods.Measured}
	version, err := h.codex(ctx)
	if program["version"] = version; err != nil {
		program["fault"] = problem.Text(err)
	}
	status := map[string]any{
		"version":  h.version,
		"codex":    program,
		"policy":   map[string]any{"mode": h.guard.Policy().Mode(), "gate": h.guard.Policy().GateEnabled(), "rewritten": rewritten, "refused": refused},
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

// notifyApplied sends bridge/policy/applied: the policy has changed or refused a message.
func (h *Hello) notifyApplied(a guard.Applied) { h.Notify("bridge/policy/applied", a) }

// NotifyExited sends bridge/upstream/exited: Codex has exited, though neither the client nor a
// signal asked for it. exitCode is null if a signal ended Codex.
func (h *Hello) NotifyExited(state *os.ProcessState) {
	params := map[string]any{"exitCode": nil, "reason": state.String()}
	if state.Exited() {
		params["exitCode"] = state.ExitCode()
	}
	h.Notify("bridge/upstream/exited", params)
}

// NotifyReloaded sends bridge/config/changed: the configuration files have changed. If err is not
// nil, the new configuration is invalid and the old one stays effective.
func (h *Hello) NotifyReloaded(err error) {
	params := map[string]any{"mode": h.guard.Policy().Mode(), "error": nil}
	if err != nil {
		params["error"] = problem.Text(err)
	}
	h.Notify("bridge/config/changed", params)
}

// Notify sends a bridge/… notification to a client that knows the bridge.
func (h *Hello) Notify(method string, params any) {
	if h.KnowsBridge() {
		h.conn.Notify(method, params)
	}
}

// Wants reports whether the client wants bridge/hook for an event of Codex's hooks, such as
// preToolUse.
func (h *Hello) Wants(event string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.hooks, event)
}

// Hook sends the client bridge/hook for one run of a hook, and returns the result.
func (h *Hello) Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error) {
	result, err := h.conn.CallClient(ctx, "bridge/hook", map[string]any{"event": event, "payload": payload})
	return result.Raw(), err
}

// declaresElicitations reports whether capabilities declare that the client shows elicitations of
// MCP servers. Codex sends plain forms to every client (measured with 0.169). So only these
// declarations count: both forms of the extension openai/form, and capabilities.bridge.
func declaresElicitations(capabilities rpc.Value) bool {
	legacy, _ := capabilities.Get("mcpServerOpenaiFormElicitation").Bool()
	own, _ := capabilities.Get("bridge").Get("elicitations").Bool()
	return legacy || own || capabilities.Get("extensions").Get("openai/form").Kind() == rpc.Object
}

// ShowsElicitations reports whether the client declares that it shows elicitations of MCP servers.
func (h *Hello) ShowsElicitations() bool { return h.elicitations.Load() }

// ElicitationServer is the serverName in elicitations of the bridge.
const ElicitationServer = "codex-bridge"

// Elicit asks the user for a yes or no, by a form without fields.
func (h *Hello) Elicit(ctx context.Context, thread, message string) (rpc.Value, error) {
	return h.conn.AskUser(ctx, thread, "mcpServer/elicitation/request", map[string]any{
		"threadId": thread, "turnId": nil, "serverName": ElicitationServer, "mode": "form", "message": message,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
}

// explain returns what the policy would do now with {message: …}, or with the shell command {command,
// cwd?, threadId?}.
func (h *Hello) explain(ctx context.Context, msg *bridge.ClientMessage) (any, *rpc.Error) {
	message := msg.Params.Get("message")
	if command, ok := msg.Params.Get("command").Text(); ok && !message.Exists() {
		cwd, _ := msg.Params.Get("cwd").Text()
		if cwd != "" && !filepath.IsAbs(cwd) {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.cwd is %s; it must be an absolute path", display.Quote(cwd))
		}
		thread, _ := msg.Params.Get("threadId").Text()
		return h.guard.ExplainCommand(command, cwd, thread), nil
	}
	if message.Kind() != rpc.Object {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.message is %v; it must be the message to explain, an object", message.Kind())
	}
	m, err := rpc.ParseMessage(message.Raw())
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.message: %v", err)
	}
	return h.guard.ExplainWithModels(ctx, m), nil
}

func orNone(text string) string {
	if text == "" {
		return "missing"
	}
	return text
}
