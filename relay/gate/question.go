package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"codex-bridge/relay/approvals"
	"codex-bridge/relay/hook"
	"codex-bridge/rpc"
)

// The questions that Codex asks about calls (0.169.0).
const (
	aboutCommand = "item/commandExecution/requestApproval"
	aboutPatch   = "item/fileChange/requestApproval"
	aboutTool    = "mcpServer/elicitation/request"
)

// question is one about a call.
type question struct {
	call   *hook.Call
	why    Reason
	since  time.Time
	method string
	params map[string]any
	what   string // in a line, for people
	part   map[string]any
}

// newQuestion puts a call into the form in which Codex would ask about it. A tool that
// Codex has no question for is asked about as one of a server's.
func newQuestion(call *hook.Call, why Reason, lasting approvals.Span) *question {
	q := &question{call: call, why: why, since: time.Now()}
	command, isText := text(call.ToolInput, "command")
	switch {
	case call.ToolName == "Bash" && isText:
		q.shell(command, lasting)
	case call.ToolName == "apply_patch" && isText:
		q.patch(command)
	default:
		q.tool(lasting)
	}
	return q
}

func (q *question) shell(command string, lasting approvals.Span) {
	actions := []any{map[string]string{"type": "unknown", "command": command}}
	decisions := []any{"accept"}
	if !q.why.Leaves && lasting != approvals.Off {
		decisions = append(decisions, "acceptForSession")
	}
	amendment := !q.why.Leaves && lasting == approvals.Always
	if amendment {
		decisions = append(decisions, map[string]any{"acceptWithExecpolicyAmendment": map[string]any{"execpolicy_amendment": []string{command}}})
	}
	q.method, q.what = aboutCommand, command
	q.params = q.common(map[string]any{
		"kind": "command", "itemId": q.call.ToolUseID, "startedAtMs": q.since.UnixMilli(), "environmentId": "local",
		"command": command, "cwd": q.call.Cwd, "commandActions": actions, "availableDecisions": append(decisions, "cancel"), // as codex offers it: decline is understood, too
	})
	if amendment { // codex-acp answers "cancel" to a question that offers one and does not propose it
		q.params["proposedExecpolicyAmendment"] = []string{command}
	}
	shell := q.why.Shell
	if shell == "" {
		shell = "unknown"
	}
	q.params["reason"] = "shell: " + shell
	if q.why.Text != "" {
		q.params["reason"] = q.why.Text + " (shell: " + shell + ")"
	}
	q.part = map[string]any{
		"type": "commandExecution", "command": command, "cwd": q.call.Cwd, "source": "agent", "commandActions": actions,
		"processId": nil, "aggregatedOutput": nil, "exitCode": nil, "durationMs": nil,
	}
}

func (q *question) patch(command string) {
	q.method, q.what = aboutPatch, "apply_patch"
	q.params = q.common(map[string]any{
		"itemId": q.call.ToolUseID, "startedAtMs": q.since.UnixMilli(), "reason": orNull(q.why.Text), "grantRoot": nil,
	})
	q.part = map[string]any{"type": "fileChange", "changes": changes(command, q.call.Cwd)}
}

func (q *question) tool(lasting approvals.Span) {
	server, tool := "codex", q.call.ToolName
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, tool, _ = strings.Cut(rest, "__")
	}
	input := q.call.ToolInput
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	meta := map[string]any{"codex_approval_kind": "mcp_tool_call", "tool_name": tool, "tool_params": input}
	var persist []approvals.Span
	if !q.why.Leaves && lasting != approvals.Off {
		persist = append(persist, approvals.Session)
	}
	if !q.why.Leaves && lasting == approvals.Always {
		persist = append(persist, approvals.Always)
	}
	if persist != nil {
		meta["persist"] = persist
	}
	message := fmt.Sprintf("Allow the tool %q to run?", q.call.ToolName)
	if q.why.Text != "" {
		message += " " + q.why.Text
	}
	q.method, q.what = aboutTool, q.call.ToolName+" "+string(input)
	q.params = q.common(map[string]any{
		"serverName": server, "mode": "form", "message": message, "_meta": meta,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
}

func (q *question) common(params map[string]any) map[string]any {
	params["threadId"], params["turnId"] = q.call.Thread(), q.call.TurnID
	return params
}

// asked returns the question in the form in which Codex would have sent it.
func (q *question) asked(params map[string]any) (*rpc.Envelope, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return rpc.ParseEnvelope(rpc.EncodeRequest(rpc.NewStringID(q.call.ToolUseID), q.method, raw))
}

// id names the question among those that are pending.
func (q *question) id() string { return named(q.call.Thread(), q.call.ToolUseID) }

// named is the name of a call: its id is the model's, and may come in two threads.
func named(thread, id string) string { return thread + "\x00" + id }

// item is the item that the question is about; nil where there is none before its call
// has begun.
func (q *question) item(status string) map[string]any {
	if q.part == nil {
		return nil
	}
	item := map[string]any{"id": q.call.ToolUseID, "status": status, "startedAtMs": q.since.UnixMilli(), "completedAtMs": nil}
	if status != "inProgress" {
		item["completedAtMs"] = time.Now().UnixMilli()
	}
	for name, v := range q.part {
		item[name] = v
	}
	return item
}

// about is a notification about the item.
func (q *question) about(when string, item map[string]any) map[string]any {
	return q.common(map[string]any{"item": item, when: time.Now().UnixMilli()})
}

// key is what exactly is asked for.
func (q *question) key(judge Judge) (approvals.Key, error) {
	if q.method == aboutPatch {
		return approvals.Key{}, fmt.Errorf("a patch is not remembered")
	}
	if q.method == aboutCommand && q.why.Shell == "" {
		return approvals.Key{}, fmt.Errorf("a command whose shell is not known is not remembered")
	}
	thread := q.call.Thread()
	return approvals.NewKey(approvals.Request{
		Provider: "codex", Session: judge.Session(thread), Workspace: judge.Workspace(thread), Tool: q.call.ToolName, Input: q.call.ToolInput,
		Cwd: q.call.Cwd, Shell: q.why.Shell, Sandbox: judge.Sandbox(thread, q.call.TurnID),
	})
}

// subject names the call as Codex's own question about it would; "" where it can't be
// named.
func (q *question) subject() string {
	raw, err := json.Marshal(q.params)
	if err != nil {
		return ""
	}
	doc, err := rpc.ParseValue(raw)
	if err != nil {
		return ""
	}
	return subject(q.method, doc.Root())
}

func subject(method string, params rpc.Value) string {
	thread, _ := params.Get("threadId").Text()
	item, _ := params.Get("itemId").Text()
	if method == aboutTool {
		meta := params.Get("_meta")
		server, _ := params.Get("serverName").Text()
		tool, _ := meta.Get("tool_name").Text()
		input, err := approvals.Canonical(meta.Get("tool_params").Raw())
		if err != nil {
			return ""
		}
		item = server + "\x00" + tool + "\x00" + string(input)
	}
	return method + "\x00" + thread + "\x00" + item
}

// say is what a person has said.
type say struct {
	yes, cancel bool
	span        approvals.Span
}

// read takes an answer for a yes only in a form that was offered.
func (q *question) read(result rpc.Value) say {
	if q.method == aboutTool {
		yes := result.Get("action").Is("accept")
		s := say{yes: yes, span: approvals.Off}
		for _, span := range []approvals.Span{approvals.Session, approvals.Always} {
			if yes && result.Get("_meta").Get("persist").Is(string(span)) {
				s.span = span
			}
		}
		return s
	}
	switch decision := result.Get("decision"); {
	case decision.Is("accept"):
		return say{yes: true, span: approvals.Off}
	case decision.Is("acceptForSession"):
		return say{yes: true, span: approvals.Session}
	case decision.Get("acceptWithExecpolicyAmendment").Exists():
		return say{yes: q.method == aboutCommand, span: approvals.Always}
	case decision.Is("cancel"):
		return say{cancel: true}
	}
	return say{}
}

func text(object json.RawMessage, name string) (string, bool) {
	doc, err := rpc.ParseValue(object)
	if err != nil {
		return "", false
	}
	return doc.Root().Get(name).Text()
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
