package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/rpc"
)

// Policy decides by the policy's rules, and logs the decision.
type Policy interface {
	Agent(ctx context.Context, use toolcall.AgentRequest, session string, line []byte) policy.Decision
	// AgentAllowed decides again after a person has allowed the request, and logs that with the reason. It
	// returns why the request must not be allowed: a rule denies it now, or the answer can't be logged.
	AgentAllowed(ctx context.Context, use toolcall.AgentRequest, session string, line []byte, reason string) *rpc.Error
}

// Approver asks a person for a decision. why is the text that a rule shows to the person.
type Approver func(ctx context.Context, a Ask, why string) Answer

// Judge decides the permission requests of agents: first the policy, then a person. If
// neither allows the request, the answer is no.
//
// A Judge remembers no answer, because it does not know whether the request would leave the
// agent's sandbox. A Codex behind its own bridge is told that the answer lasts; that bridge
// remembers it. Several goroutines may use a Judge.
type Judge struct {
	Policy Policy
	Person Approver
}

// Decide returns the answer to an agent's request.
func (j Judge) Decide(ctx context.Context, a Ask) Answer {
	use := toolcall.AgentRequest{
		Agent: a.Agent, Command: a.Command, Files: a.Files, Tool: a.Kind, Input: a.Input, Unread: a.Unread, RunsIn: a.Cwd, Cwd: a.Folder, OwnBridge: a.Behind,
	}
	if len(a.Content) > 0 {
		use.Content, _ = json.Marshal(a.Content) // it was decoded from JSON
	}
	d := j.Policy.Agent(ctx, use, a.Child, a.Line)
	switch d.Verdict {
	case policy.Deny:
		return Answer{Reason: d.Err.Message}
	case policy.Accept:
		return Answer{Allow: true, Reason: "a rule allows it"}
	}
	answer := j.Person(ctx, a, d.AskReason)
	if answer.Allow {
		if err := j.Policy.AgentAllowed(ctx, use, a.Child, a.Line, answer.Reason); err != nil {
			return Answer{Reason: err.Message}
		}
	}
	answer.Lasts, answer.Always = answer.Lasts && a.Behind, answer.Always && a.Behind
	return answer
}

const permissionEvent = "permissionRequest"

// HookClient is a client that can answer hook events.
type HookClient interface {
	Wants(event string) bool
	Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)
}

// NewClientApprover returns an Approver that asks the person at a client. wait returns how
// long the person has to answer.
func NewClientApprover(client HookClient, wait func() time.Duration) Approver {
	return func(ctx context.Context, a Ask, why string) Answer {
		if !client.Wants(permissionEvent) {
			return Answer{Reason: "the client does not want to be asked (capabilities.bridge.hooks has no " + permissionEvent + ")"}
		}
		wait := wait()
		ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no answer came within %s", wait))
		defer cancel()
		response, err := client.Hook(ctx, permissionEvent, hookPayload(a, why))
		if err != nil {
			return Answer{Reason: problem.Text(err)}
		}
		answer, err := serverrequest.ReadPermissionAnswer(response)
		if err != nil {
			return Answer{Reason: problem.Text(err)}
		}
		return Answer{Allow: answer.Allow, Lasts: answer.Remember != "", Always: answer.Remember == "always", Reason: answer.Reason}
	}
}

// hookPayload returns the request in the form of Codex's PermissionRequest hook, with the
// agent's own words in the member acp.
func hookPayload(a Ask, why string) json.RawMessage {
	name, input := a.Kind, map[string]any{"title": a.Title}
	switch {
	case len(a.Files) > 0 && a.Kind != "execute":
		name, input = "apply_patch", map[string]any{"files": a.Files}
	case a.Command != nil:
		name, input = "Bash", map[string]any{"command": *a.Command}
	}
	all := map[string]any{
		"hook_event_name": "PermissionRequest", "session_id": a.Child, "cwd": a.Cwd, "tool_name": name, "tool_input": input, "tool_use_id": a.Call, "acp": a,
	}
	if why != "" {
		all["reason"] = why
	}
	raw, _ := json.Marshal(all) // strings and maps always have a JSON form
	return raw
}
