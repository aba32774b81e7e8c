package approvals

import (
	"context"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

// Rules in the decision log.
const (
	ruleTurn    = "approvals.turn"
	rulePlugins = "bridge.plugins"

	ruleGate     = "policy.gate"
	ruleRemember = "approvals.remember"
	ruleServer   = "approvals.server"
)

const reasonGate = "the user has accepted this call when the bridge asked"

const (
	reasonNoTurn   = "the question belongs to no turn that is running"
	reasonNoThread = "the question belongs to no thread that a client has opened"
)

// declineForeign declines a question of a thread that the bridge does not know, under enforce.
func (f *Feature) declineForeign(ctx context.Context, msg *bridge.ServerMessage) bool {
	params := msg.Root().Get("params")
	if !msg.ID.IsValid() || !f.enforces() || !f.isForeign(msg.Method, params) {
		return false
	}
	f.logDecision(ctx, msg.Envelope, policy.Deny, ruleTurn, reasonNoThread)
	msg.Reply(result(msg.Method, params, answer.Unavailable))
	return true
}

// isForeign reports whether a question comes from a turn of a thread that neither a client has opened nor an
// agent of such a thread. An MCP server may ask without a turn while its thread is opened.
func (f *Feature) isForeign(method string, params rpc.Value) bool {
	thread, _ := params.Get("threadId").Text()
	if thread == "" {
		thread, _ = params.Get("conversationId").Text()
	}
	turn := params.Get("turnId")
	if method == elicitation && (!turn.Exists() || turn.Kind() == rpc.Null) {
		return false
	}
	return f.Policy.Workspace(thread) == ""
}

// route answers an elicitation that the client must not answer: one that belongs to no running turn of a
// session, or a server's question about an app for which the session's host has decided. Without enforce it
// answers only the latter. isServers reports that an MCP server asks by itself.
func (f *Feature) route(ctx context.Context, msg *bridge.ServerMessage, isServers bool) bool {
	if msg.Method != elicitation {
		return false
	}
	params := msg.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	scope := answer.Scope{Turn: f.Sessions.Running(thread), Apps: f.Sessions.Apps(ctx, f.Policy.Session(thread))}
	if scope.Apps == nil && !f.enforces() {
		return false
	}
	rule, reason := rulePlugins, "the session's host does not allow this app to do this, or the app that asks is not known"
	switch answer.RouteElicitation(params, scope) {
	case answer.ToPlugin:
		if isServers && !params.Get("serverName").Is(appsServer) {
			return false // the server writes which app it is; the host has consented to what Codex asks about
		}
		if !msg.Truncated() { // a missing value might change the answer
			return f.answerForHost(ctx, msg)
		}
	case answer.Foreign:
		rule, reason = ruleTurn, reasonNoTurn
	case answer.Declined:
	default:
		return false
	}
	f.logDecision(ctx, msg.Envelope, policy.Deny, rule, reason)
	msg.Reply(answer.Elicitation(answer.Declined, params, answer.Denied))
	return true
}

// answerForHost answers a question to which the host has consented in advance, if the
// policy allows it without the person and the consent can be logged.
func (f *Feature) answerForHost(ctx context.Context, msg *bridge.ServerMessage) bool {
	params := msg.Root().Get("params")
	server, _ := params.Get("serverName").Text()
	tool, _ := params.Get("_meta").Get("tool_name").Text()
	use := toolcall.Call{Name: "mcp__" + server + "__" + tool, Input: params.Get("_meta").Get("tool_params")}
	if !f.Policy.Consents(params, use) {
		return false
	}
	result := answer.Elicitation(answer.ToPlugin, params, answer.ApprovedOnce)
	verdict, reason := policy.Accept, "the host of the session has consented to what this app of a plugin does"
	if !isAccept(result) {
		verdict, reason = policy.Deny, "the host of the session has consented, but the question's form has no place for a yes"
	}
	if !f.logDecision(ctx, msg.Envelope, verdict, rulePlugins, reason) && verdict == policy.Accept {
		return false // ask the person
	}
	msg.Reply(result)
	return true
}

func isAccept(result []byte) bool {
	doc, err := rpc.ParseValue(result)
	return err == nil && doc.Root().Get("action").Is("accept")
}

// programTimeout is the timeout of requests that the client's program answers without the
// user. It is longer than Codex's own.
const programTimeout = 30 * time.Second

// programRoutes returns the routes of requests to the client's program. A client that does
// not know such a request may never answer, and Codex would wait forever.
func (f *Feature) programRoutes() []bridge.Route {
	var routes []bridge.Route
	for _, method := range []string{"account/chatgptAuthTokens/refresh", "attestation/generate", "currentTime/read"} {
		routes = append(routes, bridge.Route{
			From: bridge.Codex, Method: method, Why: "answered with an error when the client does not answer in time", HandleServer: f.handleProgramRequest,
		})
	}
	return routes
}

func (f *Feature) handleProgramRequest(ctx context.Context, msg *bridge.ServerMessage) {
	if !f.enforces() || !msg.ID.IsValid() {
		return
	}
	wait := min(time.Duration(f.Approvals().Timeout), programTimeout)
	envelope := msg.Clone()
	msg.TimeoutError(wait, func() *rpc.Error {
		reason := "the client did not answer within " + wait.String()
		f.logDecision(ctx, envelope, policy.Deny, "approvals.timeout", reason)
		return rpc.Errorf(rpc.CodeDeadline, "%s: %s", envelope.Method, reason)
	})
}
