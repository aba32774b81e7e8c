package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"codex-bridge.example/cmd/internal/scripted"
)

// runParallel runs the calls of one reply in parallel and returns their outputs in order.
func (u *turn) runParallel(calls []func() string) []string {
	outputs := make([]string, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { outputs[i] = call() })
	}
	all.Wait()
	return outputs
}

// call runs one tool call with its hooks, after it wrote the line in the rollout file.
func (u *turn) call(ctx context.Context, c scripted.Call) string {
	id := "call_" + newID()
	if c.Arguments == nil {
		c.Arguments = json.RawMessage("{}")
	}
	if f := appendRollout(u.thread.path, "response_item", object{
		"type": "function_call", "name": c.Tool, "namespace": namespace(c), "arguments": string(c.Arguments), "call_id": id,
	}); f != nil {
		return f.Message
	}
	name, input := c.Namespace+c.Tool, c.Arguments
	if strings.HasPrefix(c.Namespace, "mcp__") {
		name = c.Namespace + "__" + c.Tool
	}
	if c.Tool == "exec_command" {
		name, input = "Bash", u.command(c)
	}
	about := object{"tool_name": name, "tool_input": input, "tool_use_id": id}
	if reason := u.runHooks(ctx, preToolUse, id, about); reason != "" {
		return "Command blocked by PreToolUse hook: " + reason
	}
	output := u.runTool(ctx, c, id)
	about["tool_response"] = output
	u.runHooks(ctx, postToolUse, id, about)
	return output
}

// namespace returns the namespace of a call, or nil.
func namespace(c scripted.Call) any {
	if c.Namespace == "" {
		return nil
	}
	return c.Namespace
}

// command returns a shell command as hooks get it.
func (u *turn) command(c scripted.Call) json.RawMessage {
	var p struct {
		Cmd string `json:"cmd"`
	}
	_ = json.Unmarshal(c.Arguments, &p) // an empty command has no effect
	text, _ := json.Marshal(object{"command": p.Cmd})
	return text
}

// runTool returns the output of a tool. Commands and tools of MCP servers do nothing and succeed.
func (u *turn) runTool(ctx context.Context, c scripted.Call, id string) string {
	switch {
	case c.Tool == "exec_command":
		u.item(object{"type": "commandExecution", "id": id, "command": string(u.command(c)), "cwd": u.thread.cwd, "status": "completed", "aggregatedOutput": nil, "exitCode": 0})
		return "Process exited with code 0\nOutput:\n"
	case c.Tool == "request_user_input":
		var p object
		_ = json.Unmarshal(c.Arguments, &p) // from the scripted model
		p["threadId"], p["turnId"], p["itemId"] = u.thread.id, u.id, id
		result, err := u.request(ctx, "item/tool/requestUserInput", u.thread.id, p)
		if err != nil {
			return err.Error()
		}
		return string(result)
	case strings.HasPrefix(c.Namespace, "mcp__"):
		return u.callMCPTool(ctx, c, id)
	default:
		return u.callClientTool(ctx, c, id)
	}
}

// callMCPTool calls the tool of an MCP server after asking the user.
func (u *turn) callMCPTool(ctx context.Context, c scripted.Call, id string) string {
	server := strings.TrimPrefix(c.Namespace, "mcp__")
	item := object{"type": "mcpToolCall", "id": id, "server": server, "tool": c.Tool, "status": "inProgress", "arguments": c.Arguments}
	u.notify("item/started", object{"item": item})
	result, err := u.request(ctx, "mcpServer/elicitation/request", u.thread.id, object{
		"threadId": u.thread.id, "turnId": u.id, "serverName": server, "mode": "form",
		"_meta":   object{"codex_approval_kind": "mcp_tool_call", "persist": []string{"session", "always"}, "tool_name": c.Tool, "tool_params": c.Arguments},
		"message": "Allow the " + server + " MCP server to run tool \"" + c.Tool + "\"?", "requestedSchema": object{"type": "object", "properties": object{}},
	})
	var answer struct{ Action string }
	output := "rejected by user"
	if err == nil && json.Unmarshal(result, &answer) == nil && answer.Action == "accept" {
		output = "touched"
	}
	item["status"] = "completed"
	u.notify("item/completed", object{"item": item})
	return output
}

// callClientTool calls a tool of the client.
func (u *turn) callClientTool(ctx context.Context, c scripted.Call, id string) string {
	item := object{"type": "dynamicToolCall", "id": id, "namespace": namespace(c), "tool": c.Tool, "arguments": c.Arguments, "status": "inProgress"}
	u.notify("item/started", object{"item": item})
	result, err := u.request(ctx, "item/tool/call", u.thread.id, object{
		"threadId": u.thread.id, "turnId": u.id, "callId": id, "namespace": namespace(c), "tool": c.Tool, "arguments": c.Arguments,
	})
	var answer struct {
		ContentItems []struct{ Text string }
		Success      bool
	}
	output := "the tool has failed"
	if err == nil && json.Unmarshal(result, &answer) == nil && len(answer.ContentItems) > 0 {
		output = answer.ContentItems[0].Text
	}
	item["status"], item["success"] = "completed", answer.Success
	u.notify("item/completed", object{"item": item})
	return output
}
