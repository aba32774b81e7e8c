package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// A yes without the person to a call of an MCP server's tool is given to the hook PermissionRequest,
// never to a question: see MCPCalls.

// itemTimeout is how long a hook waits for the item/started of its call, which Codex sends before.
const itemTimeout = 2 * time.Second

// isMCP reports whether a hook is about a tool of an MCP server.
func isMCP(call *hook.Call) bool { return strings.HasPrefix(call.ToolName, "mcp__") }

// Started records the hook PreToolUse of a call.
func (f *Feature) Started(call *hook.Call) {
	if isMCP(call) {
		f.Calls.update(call.Thread(), call.TurnID, call.ToolUseID, func(c *mcpCall) { c.name = call.ToolName })
	}
}

// mcpRoutes returns the routes of the items of calls.
func (f *Feature) mcpRoutes() []bridge.Route {
	const why = "tells Codex's question about an MCP server's tool from a question of the server"
	match := bridge.MatchItemType("mcpToolCall")
	return []bridge.Route{
		{From: bridge.Codex, Method: "item/started", Why: why, HandleServer: f.handleItemStarted, When: f.enforces, Match: match, ReadOnly: true},
		{From: bridge.Codex, Method: "item/completed", Why: why, HandleServer: f.handleItemCompleted, When: f.enforces, Match: match, ReadOnly: true},
	}
}

func (f *Feature) handleItemStarted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	item := params.Get("item")
	arguments, err := canonicalArguments(item.Get("arguments"))
	if !item.Get("type").Is("mcpToolCall") || err != nil || msg.Truncated() {
		return
	}
	thread, turn, id := callOf(params)
	f.Calls.update(thread, turn, id, func(c *mcpCall) {
		c.server, _ = item.Get("server").Text()
		c.tool, _ = item.Get("tool").Text()
		c.arguments, c.rawArguments = arguments, string(item.Get("arguments").Raw())
	})
}

func (f *Feature) handleItemCompleted(_ context.Context, msg *bridge.ServerMessage) {
	f.Calls.end(callOf(msg.Root().Get("params")))
}

func callOf(params rpc.Value) (thread, turn, id string) {
	thread, _ = params.Get("threadId").Text()
	turn, _ = params.Get("turnId").Text()
	id, _ = params.Get("item").Get("id").Text()
	return thread, turn, id
}

// canonicalArguments returns the canonical form of a call's arguments. Codex leaves out empty ones in some of
// its messages.
func canonicalArguments(v rpc.Value) (string, error) {
	if !v.Exists() || v.Kind() == rpc.Null {
		return "{}", nil
	}
	text, err := Canonical(v.Raw())
	return string(text), err
}

// Consents reports whether a rule, the person's answer to the gate, or a remembered answer accepts the call
// of the hook PermissionRequest. If not, Codex asks the client.
func (f *Feature) Consents(ctx context.Context, call *hook.Call) bool {
	if !f.enforces() || !isMCP(call) || !f.Policy.AsksAboutMCP(call.Thread(), call.TurnID) {
		return false
	}
	input, err := rpc.ParseValue(call.ToolInput)
	if err != nil {
		return false
	}
	arguments, err := canonicalArguments(input.Root())
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, itemTimeout)
	defer cancel()
	one, ok := f.Calls.ask(ctx, call.Thread(), call.TurnID, call.ToolName, arguments)
	if !ok {
		f.Log.Info("the person is asked about a call of an MCP server's tool: Codex has not reported the call", "tool", call.ToolName)
		return false
	}
	question, err := one.question()
	if err != nil || !f.acceptsCall(ctx, question) {
		return false
	}
	f.Calls.answered(one)
	return true
}

// question returns the request by which Codex asks about the call.
func (c mcpCall) question() (*rpc.Envelope, error) {
	meta := map[string]any{"codex_approval_kind": "mcp_tool_call", "tool_name": c.tool}
	if c.rawArguments != "" && c.rawArguments != "null" {
		meta["tool_params"] = json.RawMessage(c.rawArguments)
	}
	params, err := json.Marshal(map[string]any{
		"threadId": c.thread, "turnId": c.turn, "itemId": c.id, "serverName": c.server, "mode": "form", "_meta": meta,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
	if err != nil {
		return nil, err
	}
	return rpc.ParseEnvelope(rpc.EncodeRequest(rpc.NewStringID(c.id), elicitation, params))
}

// acceptsCall accepts a call in the person's place, if that can be logged.
func (f *Feature) acceptsCall(ctx context.Context, question *rpc.Envelope) bool {
	if f.Policy.AcceptsCall(ctx, question) {
		return true
	}
	params := question.Root().Get("params")
	accept := func(rule, reason string) bool {
		facts := f.Policy.RequestFacts(elicitation, params, true)
		err := f.Policy.RecordAnswer(ctx, question, policy.Accept, rule, reason, facts)
		if err != nil {
			f.Log.Error("approval not logged", "method", elicitation, "error", err)
		}
		return err == nil
	}
	if f.Gate != nil {
		if shown, ok := f.Gate.Accepted(question); ok && (shown || f.Policy.RunsInSandbox(elicitation, params)) && accept(ruleGate, reasonGate) {
			return true
		}
	}
	key, _, ok := f.requestKey(elicitation, params)
	if !ok {
		return false
	}
	grant, ok := f.Memory.Lookup(ctx, key)
	return ok && accept(ruleRemember, grantReason(grant))
}

func grantReason(g *Grant) string {
	return fmt.Sprintf("grant %s: allowed by %s until %s", g.ID, g.Client, g.Expires.Format(time.RFC3339))
}

// appsServer is the name of Codex's own server for apps. Its questions are Codex's.
const appsServer = "codex_apps"

// isKnownQuestion reports whether a question about a tool of an MCP server is Codex's own. An
// elicitation without the mark of Codex is not.
func (f *Feature) isKnownQuestion(id rpc.ID, params rpc.Value) bool {
	meta := params.Get("_meta")
	if !meta.Get(approvalKind).Is("mcp_tool_call") || !params.Get("mode").Is("form") || params.Get("requestedSchema").Get("properties").Len() > 0 {
		return false
	}
	arguments, err := canonicalArguments(meta.Get("tool_params"))
	if err != nil {
		return false
	}
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	server, _ := params.Get("serverName").Text()
	tool, _ := meta.Get("tool_name").Text()
	return f.Calls.isExpected(id.Key(), thread, turn, server, tool, arguments)
}

// approvalKind is the member of _meta by which Codex marks its own questions.
const approvalKind = "codex_approval_kind"

// knowsCalls reports whether Codex reports the calls of a question's thread.
func (f *Feature) knowsCalls(params rpc.Value) bool {
	thread, _ := params.Get("threadId").Text()
	return f.KnowsCalls != nil && f.KnowsCalls(f.Policy.Session(thread))
}

// removeMark removes the mark of Codex from a question that a server asks by itself, so that the client does not
// show it as Codex's. It reports whether there was one.
func (f *Feature) removeMark(ctx context.Context, msg *bridge.ServerMessage) bool {
	params := msg.Root().Get("params")
	meta := params.Get("_meta")
	mark := meta.Get(approvalKind)
	if !mark.Exists() || params.Get("serverName").Is(appsServer) {
		return false
	}
	f.Policy.RecordChange(ctx, msg.Envelope, msg.Line, policy.Change{
		Field: "params._meta." + approvalKind, Rule: ruleServer, From: bytes.Clone(mark.Raw()),
		Reason: "the MCP server asks this by itself: Codex has announced no such question about a call",
	})
	patch := rpc.NewEnvelopePatch(msg.Envelope)
	patch.Delete(meta, approvalKind)
	msg.Line = patch.Bytes()
	return true
}
