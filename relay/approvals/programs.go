package approvals

import (
	"context"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// patience is for what a program answers, and no person. It is more than Codex itself
// has for any of it.
const patience = 30 * time.Second

// programs are the routes of what Codex asks the client's program for. A client that
// does not know the question may be silent, and Codex wait without end.
func (f *Feature) programs() []bridge.Route {
	var routes []bridge.Route
	for _, method := range []string{"account/chatgptAuthTokens/refresh", "attestation/generate", "currentTime/read"} {
		routes = append(routes, bridge.Route{
			From: bridge.Codex, Method: method, Why: "answered with an error when the client does not answer in time", HandleServer: f.askedProgram,
		})
	}
	return routes
}

func (f *Feature) askedProgram(ctx context.Context, said *bridge.ServerMessage) {
	if !f.enforces() || !said.ID.IsValid() {
		return
	}
	wait := min(time.Duration(f.Approvals().Timeout), patience)
	envelope := said.Clone()
	said.TimeoutError(wait, func() *rpc.Error {
		reason := "the client did not answer within " + wait.String()
		f.settled(ctx, envelope, policy.Deny, "approvals.timeout", reason)
		return rpc.Errorf(rpc.CodeDeadline, "%s: %s", envelope.Method, reason)
	})
}
