package approvals

import (
	"context"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
)

// The rules by which a question is answered without a person.
const (
	ruleTurn    = "approvals.turn"
	rulePlugins = "bridge.plugins"
)

const noTurn = "the question belongs to no turn that is running"

// routed answers a question that is not the client's to answer: one that belongs to no turn
// that is running, and a server's about an app for which the session's host has decided.
// Without a policy only the latter is answered here.
func (f *Feature) routed(ctx context.Context, said *bridge.ServerMessage) bool {
	params := said.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	switch said.Method {
	case "execCommandApproval", "applyPatchApproval":
		return false // they name no turn
	case elicitation:
		return f.elicited(ctx, said, thread)
	}
	if !f.enforces() || answer.OfTurn(params, f.Sessions.Running(thread)) {
		return false
	}
	f.settled(ctx, said.Envelope, policy.Deny, ruleTurn, noTurn)
	said.Reply(result(said.Method, params, answer.Unavailable))
	return true
}

func (f *Feature) elicited(ctx context.Context, said *bridge.ServerMessage, thread string) bool {
	params := said.Root().Get("params")
	scope := answer.Scope{Turn: f.Sessions.Running(thread), Apps: f.Sessions.Apps(ctx, f.Judge.Session(thread))}
	if scope.Apps == nil && !f.enforces() {
		return false
	}
	rule, reason := rulePlugins, "the session's host does not allow this app to do this, or the app that asks is not known"
	switch answer.RouteElicitation(params, scope) {
	case answer.ToPlugin:
		if !said.Truncated() { // else what is missing could be what counts
			return f.consented(ctx, said)
		}
	case answer.Foreign:
		rule, reason = ruleTurn, noTurn
	case answer.Declined:
	default:
		return false
	}
	f.settled(ctx, said.Envelope, policy.Deny, rule, reason)
	said.Reply(answer.Elicitation(answer.Declined, params, answer.Denied))
	return true
}

// consented answers a question to which the host has consented beforehand, where the policy
// does not want a person to be asked, and the consent can be recorded.
func (f *Feature) consented(ctx context.Context, said *bridge.ServerMessage) bool {
	params := said.Root().Get("params")
	server, _ := params.Get("serverName").Text()
	tool, _ := params.Get("_meta").Get("tool_name").Text()
	use := policy.ToolUse{Name: "mcp__" + server + "__" + tool, Input: params.Get("_meta").Get("tool_params")}
	if !f.Judge.Consents(params, use) {
		return false
	}
	result := answer.Elicitation(answer.ToPlugin, params, answer.ApprovedOnce)
	verdict, reason := policy.Accept, "the host of the session has consented to what this app of a plugin does"
	if !accepts(result) {
		verdict, reason = policy.Deny, "the host of the session has consented, but the question's form has no place for a yes"
	}
	if !f.settled(ctx, said.Envelope, verdict, rulePlugins, reason) && verdict == policy.Accept {
		return false // for the person to say
	}
	said.Reply(result)
	return true
}

func accepts(result []byte) bool {
	doc, err := rpc.ParseValue(result)
	return err == nil && doc.Root().Get("action").Is("accept")
}
