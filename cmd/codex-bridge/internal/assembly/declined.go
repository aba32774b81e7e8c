package assembly

import (
	"context"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

// Declined returns the result that declines a request of Codex; nil if it has none.
func Declined(asked *rpc.Envelope) []byte {
	if asked.Method == methods.ToolCall {
		return serve.NoToolResult
	}
	return approvals.Decline(asked.Method, asked.Root().Get("params"))
}

// declineExcess implements bridge.Options.DeclineExcess.
func (a *Conversation) declineExcess(ctx context.Context, asked *rpc.Envelope, first bool) []byte {
	a.RecordExcess(ctx, asked, first)
	return Declined(asked)
}
