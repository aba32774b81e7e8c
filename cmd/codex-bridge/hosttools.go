package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/hello"
	"codex-bridge/relay/hook"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/host"
)

// toolsGrace is how long the servers of tools have to end once codex has.
const toolsGrace = 1500 * time.Millisecond

// newTools makes what offers the host's tools. It is closed by closeTools.
func newTools(cfg *config.Config, g *guard.Guard, hi *hello.Hello, relay *hooks, log *slog.Logger, after ...tools.After) *host.Feature {
	f := host.New(host.Options{
		Config: cfg, Version: Version, Known: hi.KnowsBridge, Session: g.Session, CodexHome: g.CodexHome(),
		Experimental: func() bool { return g.Policy().UsesProfiles() },
		Forked:       func() bool { return relay.thread().OnStaleTools == config.Fork },
		Before:       []tools.Before{relay.beforeTool}, Handlers: []tools.Handler{relay.afterTool}, After: after, Log: log,
	})
	hi.AddMethods(host.Methods...)
	hi.AddStatus("tools", func() any { return f.Status() })
	return f
}

func closeTools(f *host.Feature) {
	ctx, cancel := context.WithTimeout(context.Background(), toolsGrace)
	defer cancel()
	f.Close(ctx)
}

// beforeTool asks those whom a hook would ask. Codex runs the hooks of a thread for the
// host's tools as for any other (measured), so that in a thread that has them all were
// asked when the call comes here.
func (h *hooks) beforeTool(ctx context.Context, call tools.Call) (tools.Call, string) {
	if !h.standsIn(hook.PreToolUse, call) {
		return call, ""
	}
	a := h.answer.Answer(ctx, hookCall(hook.PreToolUse, call, nil))
	if a.Decision == hook.Deny {
		return call, a.Reason
	}
	if a.Input != nil {
		call.Arguments = a.Input
	}
	return call, ""
}

// afterTool is the same for those who look at results.
func (h *hooks) afterTool(ctx context.Context, call tools.Call, result tools.Result) (tools.Result, error) {
	if !h.standsIn(hook.PostToolUse, call) {
		return result, nil
	}
	said, err := json.Marshal(tools.Answer{Items: result.Content, Success: !result.Failed})
	if err != nil {
		return tools.Result{}, err
	}
	if a := h.answer.Answer(ctx, hookCall(hook.PostToolUse, call, said)); a.Decision == hook.Block {
		return tools.Result{Content: []tools.Content{{Text: a.Reason}}, Failed: true}, nil
	}
	return result, nil
}

// standsIn tells whether somebody wants to be asked of a call, and no hook asks them.
func (h *hooks) standsIn(event hook.Event, call tools.Call) bool {
	cfg := h.config.Load().Hooks
	if !cfg.On || !slices.Contains(cfg.Events, string(event)) {
		return false
	}
	return !h.inject.IsActive(h.guard.Session(call.Thread), event) && (event.Decides() || !h.idle(event))
}

// hookCall is a call of a tool as Codex describes it to a hook.
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
	c.Payload, _ = json.Marshal(payload) // of texts, and of JSON that was read
	return c
}

// hookName is what Codex calls a dynamic tool in a hook (measured).
func hookName(call tools.Call) string { return call.Namespace + call.Name }
