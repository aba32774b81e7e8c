package assembly

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/host"
)

// toolsGrace is how long tool servers have to end after Codex.
const toolsGrace = 1500 * time.Millisecond

// newTools returns the feature that offers the host's tools. shared means that Codex has other clients. The caller closes it.
func newTools(cfg *config.Config, shared bool, g *guard.Guard, hi *hello.Hello, hooks *core.Hooks, log *slog.Logger, after ...tools.After) *host.Feature {
	relay := toolHooks{hooks}
	f := host.New(host.Options{
		Config: cfg, Version: buildinfo.Version, Known: hi.KnowsBridge, Session: g.Session, CodexHome: g.CodexHome(),
		// Without it, Codex does not report settings that another client has changed (measured).
		Experimental: func() bool { return g.Policy().UsesProfiles() || shared && g.Policy().Mode() != config.Off },
		Forked:       func() bool { return relay.Thread().OnStaleTools == config.Fork },
		Before:       []tools.Before{relay.beforeTool, relay.checkToolFiles}, Handlers: []tools.Handler{relay.afterTool}, After: after, Log: log,
	})
	hi.AddMethods(host.Methods...)
	hi.AddStatus("tools", func() any { return f.Status() })
	return f
}

// toolHooks calls the hooks of the host's tools.
type toolHooks struct{ *core.Hooks }

// beforeTool calls the pre_tool_use handlers if no hook of Codex did. Codex runs the hooks of a
// thread for the host's tools too (measured).
func (h toolHooks) beforeTool(ctx context.Context, call tools.Call) (tools.Call, string) {
	if !h.needsHandlers(hook.PreToolUse, call) {
		return call, ""
	}
	a := h.Answer.Answer(ctx, hookCall(hook.PreToolUse, call, nil))
	if a.Decision == hook.Deny {
		return call, a.Reason
	}
	if a.Input != nil {
		call.Arguments = a.Input
	}
	return call, ""
}

// checkToolFiles refuses a tool of the configuration whose command names a file that the thread's commands could
// write. Tools with a namespace are of servers and clients.
func (h toolHooks) checkToolFiles(_ context.Context, call tools.Call) (tools.Call, string) {
	if call.Namespace != "" {
		return call, ""
	}
	if err := h.Guard.CheckScripts(call.Thread, call.Cwd, h.Config().Tools[call.Name].Command); err != nil {
		return call, "the tool was not run: " + err.Error()
	}
	return call, ""
}

// afterTool does the same for the post_tool_use handlers.
func (h toolHooks) afterTool(ctx context.Context, call tools.Call, result tools.Result) (tools.Result, error) {
	if !h.needsHandlers(hook.PostToolUse, call) {
		return result, nil
	}
	response, err := json.Marshal(tools.Answer{Items: result.Content, Success: !result.Failed})
	if err != nil {
		return tools.Result{}, err
	}
	if a := h.Answer.Answer(ctx, hookCall(hook.PostToolUse, call, response)); a.Decision == hook.Block {
		return tools.Result{Content: []tools.Content{{Text: a.Reason}}, Failed: true}, nil
	}
	return result, nil
}

// needsHandlers reports whether handlers want an event of a call and no hook of Codex's calls them.
func (h toolHooks) needsHandlers(event hook.Event, call tools.Call) bool {
	cfg := h.Config().Hooks
	if !cfg.On || !slices.Contains(cfg.Events, string(event)) {
		return false
	}
	return !h.Inject.RunsFor(h.Guard.Session(call.Thread), event, hookName(call)) && (event.Decides() || !h.IsUnwanted(event))
}

// hookCall returns a tool call as Codex describes it to a hook.
func hookCall(event hook.Event, call tools.Call, response json.RawMessage) *hook.Call {
	c := &hook.Call{
		Event: event, SessionID: call.Thread, TurnID: call.Turn, Cwd: call.Cwd,
		ToolName: hookName(call), ToolUseID: call.ID, ToolInput: call.Arguments, ToolResponse: response,
	}
	payload := map[string]any{
		"hook_event_name": event.Name(), "session_id": c.SessionID, "turn_id": c.TurnID, "cwd": c.Cwd,
		"tool_name": c.ToolName, "tool_use_id": c.ToolUseID, "tool_input": c.ToolInput,
	}
	if response != nil {
		payload["tool_response"] = response
	}
	c.Payload, _ = json.Marshal(payload) // can't fail: strings and parsed JSON
	return c
}

// hookName returns the name of a dynamic tool in a hook (measured).
func hookName(call tools.Call) string { return call.Namespace + call.Name }

// WaitForTools starts the servers and returns the tools when all servers are ready or failed.
func WaitForTools(kit *host.ToolSet, catalogue *tools.Catalogue) *tools.Snapshot {
	kit.Start()
	return catalogue.Refresh()
}
