package guard

import (
	"context"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// findEscalation returns the escalation that the model's call requests, from Codex's record of the
// call.
func (g *Guard) findEscalation(method string, params rpc.Value, state policy.State) rules.Escalation {
	if method != "item/commandExecution/requestApproval" || state.Thread == nil {
		return rules.EscalationUnknown
	}
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	id, _ := params.Get("itemId").Text()
	return g.modelCall(thread, turn, id, state.Thread).Escalation
}

// currentState returns the current state for a message, without waiting.
func (g *Guard) currentState(params rpc.Value) policy.State {
	state := g.machine()
	state.Workspaces, state.Writable = g.threads.workspaces(), g.threads.writable.ofAll()
	if id, ok := params.Get("threadId").Text(); ok {
		turn, _ := params.Get("turnId").Text()
		state.Thread = g.threadFor(id, turn)
		state.Files = g.Files(params)
	}
	return state
}

// callState returns the state for a tool call. call is the payload of the hook.
func (g *Guard) callState(ctx context.Context, thread, turn string, use toolcall.Call, call []byte) policy.State {
	state := g.currentState(rpc.Value{})
	state.ProgramStarts = g.decidesPrograms()
	if state.Thread = g.threadFor(thread, turn); state.Thread == nil {
		g.awaitOpening(ctx, thread)
		state.Thread = g.threadFor(thread, turn)
	}
	state.CodexInternal = state.Thread == nil && g.coversInternalWork() && g.isMemoryWriter(thread, use, call)
	return state
}
