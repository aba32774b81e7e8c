package handlers

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// The methods of Codex's approval requests (0.169.0).
const (
	methodCommandApproval = "item/commandExecution/requestApproval"
	methodPatchApproval   = "item/fileChange/requestApproval"
	methodElicitation     = "mcpServer/elicitation/request"
)

// Question is an approval request about a call.
type Question struct {
	id         string // among the pending questions
	call       *hook.Call
	reason     GateReason
	startedAt  time.Time
	method     string
	params     map[string]any
	summary    string           // one line for people
	spans      []approvals.Span // for which an acceptance may be kept
	itemFields map[string]any
}

// Thread returns the thread of the call.
func (q *Question) Thread() string { return q.call.Thread() }

// Turn returns the turn of the call.
func (q *Question) Turn() string { return q.call.TurnID }

// Method returns the method of the request.
func (q *Question) Method() string { return q.method }

// Summary says in a line what waits for an answer.
func (q *Question) Summary() string { return q.summary }

// newQuestion builds the request that Codex would send about the call. For tools that Codex
// never asks about, it builds the request for an MCP tool.
func newQuestion(call *hook.Call, why GateReason, lasting approvals.Span) *Question {
	q := &Question{id: rand.Text(), call: call, reason: why, startedAt: time.Now()}
	command, isText := stringMember(call.ToolInput, "command")
	switch {
	case call.ToolName == "Bash" && isText:
		q.fillCommand(command, lasting)
	case call.ToolName == "apply_patch" && isText:
		q.fillPatch(command)
	default:
		q.fillTool(lasting)
	}
	return q
}

func (q *Question) fillCommand(command string, lasting approvals.Span) {
	actions := []any{map[string]string{"type": "unknown", "command": command}}
	decisions := []any{"accept"}
	if !q.reason.Escalated && lasting != approvals.Off {
		decisions = append(decisions, "acceptForSession")
	}
	amendment := !q.reason.Escalated && lasting == approvals.Always && !q.isAboutProgram()
	if amendment {
		decisions = append(decisions, map[string]any{"acceptWithExecpolicyAmendment": map[string]any{"execpolicy_amendment": []string{command}}})
	}
	q.method, q.summary = methodCommandApproval, command
	q.params = q.withTurn(map[string]any{
		"kind": "command", "itemId": q.call.ToolUseID, "startedAtMs": q.startedAt.UnixMilli(), "environmentId": "local",
		"command": command, "cwd": q.call.Cwd, "commandActions": actions, "availableDecisions": append(decisions, "cancel"),
	})
	if amendment { // codex-acp answers "cancel" to an offered amendment that is not also proposed
		q.params["proposedExecpolicyAmendment"] = []string{command}
	}
	if q.isAboutProgram() {
		q.params["approvalId"] = q.id // the call itself runs, and has its own item
		q.params["reason"] = q.reason.Text
		return
	}
	shell := q.reason.Shell
	if shell == "" {
		shell = "unknown"
	}
	q.params["reason"] = "shell: " + shell
	if q.reason.Text != "" {
		q.params["reason"] = q.reason.Text + " (shell: " + shell + ")"
	}
	q.itemFields = map[string]any{
		"type": "commandExecution", "command": command, "cwd": q.call.Cwd, "source": "agent", "commandActions": actions,
		"processId": nil, "aggregatedOutput": nil, "exitCode": nil, "durationMs": nil,
	}
}

func (q *Question) fillPatch(command string) {
	q.method, q.summary = methodPatchApproval, "apply_patch"
	q.params = q.withTurn(map[string]any{
		"itemId": q.call.ToolUseID, "startedAtMs": q.startedAt.UnixMilli(), "reason": orNull(q.reason.Text), "grantRoot": nil,
	})
	q.itemFields = map[string]any{"type": "fileChange", "changes": parsePatch(command, q.call.Cwd)}
}

func (q *Question) fillTool(lasting approvals.Span) {
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
	if !q.reason.Escalated && lasting != approvals.Off {
		persist = append(persist, approvals.Session)
	}
	if !q.reason.Escalated && lasting == approvals.Always {
		persist = append(persist, approvals.Always)
	}
	if persist != nil {
		meta["persist"] = persist
	}
	message := fmt.Sprintf("Allow the tool %q to run?", q.call.ToolName)
	if q.reason.Text != "" {
		message += " " + q.reason.Text
	}
	q.method, q.summary = methodElicitation, q.call.ToolName+" "+string(input)
	q.params = q.withTurn(map[string]any{
		"serverName": server, "mode": "form", "message": message, "_meta": meta,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
}

func (q *Question) withTurn(params map[string]any) map[string]any {
	params["threadId"], params["turnId"] = q.call.Thread(), q.call.TurnID
	return params
}

// envelope returns the request as Codex would send it.
func (q *Question) envelope(params map[string]any) (*rpc.Envelope, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return rpc.ParseEnvelope(rpc.EncodeRequest(rpc.NewStringID(q.call.ToolUseID), q.method, raw))
}

// callID identifies the call that the question is about.
func (q *Question) callID() string { return callID(q.call.Thread(), q.call.ToolUseID) }

// callID includes the thread: the model chooses the call's id, and two threads may use the
// same.
func callID(thread, id string) string { return thread + "\x00" + id }

// item returns the item that the question is about; nil if Codex creates the item later.
func (q *Question) item(status string) map[string]any {
	if q.itemFields == nil {
		return nil
	}
	item := map[string]any{"id": q.call.ToolUseID, "status": status, "startedAtMs": q.startedAt.UnixMilli(), "completedAtMs": nil}
	if status != "inProgress" {
		item["completedAtMs"] = time.Now().UnixMilli()
	}
	for name, v := range q.itemFields {
		item[name] = v
	}
	return item
}

// itemParams returns the params of a notification about the item.
func (q *Question) itemParams(when string, item map[string]any) map[string]any {
	return q.withTurn(map[string]any{"item": item, when: time.Now().UnixMilli()})
}

// key returns the key of the call for memory.
func (q *Question) key(p GatePolicy) (approvals.Key, error) {
	if q.method == methodPatchApproval {
		return approvals.Key{}, fmt.Errorf("approvals of patches are not remembered")
	}
	if q.method == methodCommandApproval && q.reason.Shell == "" {
		return approvals.Key{}, fmt.Errorf("the shell is not known, so the approval is not remembered")
	}
	thread := q.call.Thread()
	return approvals.NewKey(approvals.Request{
		Provider: "codex", Session: p.Session(thread), Workspace: p.Workspace(thread), Tool: q.call.ToolName, Input: q.call.ToolInput,
		Cwd: q.call.Cwd, Shell: q.reason.Shell, Sandbox: p.Sandbox(thread, q.call.TurnID), Terms: q.reason.Terms,
	})
}

// isAboutProgram reports whether the question is about a program of a call that runs.
func (q *Question) isAboutProgram() bool { return q.call.Program != "" }

// subject returns a name of the call that Codex's own request about it has too.
func (q *Question) subject() string {
	return itemSubject(q.method, q.call.Thread(), q.call.ToolUseID)
}

func subjectOf(method string, params rpc.Value) string {
	thread, _ := params.Get("threadId").Text()
	item, _ := params.Get("itemId").Text()
	return itemSubject(method, thread, item)
}

func itemSubject(method, thread, item string) string {
	return method + "\x00" + thread + "\x00" + item
}

// personReply is the person's answer.
type personReply struct {
	accepted, cancel bool
	span             approvals.Span
	unoffered        bool // the question does not offer it
}

// parseReply parses an answer. One that the question does not offer counts at most once. One that Codex would not
// read is an error.
func (q *Question) parseReply(result rpc.Value) (personReply, error) {
	if err := serverrequest.CheckAnswer(q.method, result); err != nil {
		return personReply{}, err
	}
	decision := result.Get("decision")
	reply := personReply{cancel: decision.Is("cancel")}
	switch {
	case q.method == methodElicitation:
		reply = personReply{accepted: result.Get("action").Is("accept")}
	case decision.Is("accept"), decision.Is("acceptForSession"):
		reply.accepted = true
	case decision.Get("acceptWithExecpolicyAmendment").Exists():
		reply.accepted = true
	}
	if !reply.accepted {
		return reply, nil
	}
	asked, err := q.envelope(q.params)
	if err != nil {
		return personReply{}, err
	}
	params := asked.Root().Get("params")
	reply.span = approvals.ConsentSpan(q.method, params, result)
	reply.unoffered = !approvals.Offers(q.method, params, result)
	return reply, nil
}

func stringMember(object json.RawMessage, name string) (string, bool) {
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
