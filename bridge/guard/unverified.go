package guard

import (
	"context"
	"path/filepath"
	"strings"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// callState returns the state for a tool call. call is the payload of the hook.
func (g *Guard) callState(ctx context.Context, thread, turn string, use policy.ToolCall, call []byte) policy.State {
	state := g.stateNow(rpc.Value{})
	if state.Thread = g.thread(thread, turn); state.Thread == nil {
		g.awaitOpening(ctx, thread)
		state.Thread = g.thread(thread, turn)
	}
	state.CodexInternal = state.Thread == nil && g.isMemoryWriter(thread, use, call)
	return state
}

// isMemoryWriter reports whether a tool call is made by the agent with which Codex writes its memories.
//
// Measured with Codex 0.169: its thread has no file, is no subagent's, and works in CODEX_HOME/memories_v2,
// which alone its sandbox lets it write. A client can't open a thread there.
func (g *Guard) isMemoryWriter(thread string, use policy.ToolCall, call []byte) bool {
	doc, err := rpc.ParseValue(call)
	if err != nil || g.world.CodexHome == "" || g.threads.opens(thread) {
		return false
	}
	if agent, _ := doc.Root().Get("agent_id").Text(); agent != "" || doc.Root().Get("transcript_path").Kind() != rpc.Null {
		return false
	}
	folder, err := g.world.Paths.Canonical(use.Cwd)
	if err != nil {
		return false
	}
	below, err := filepath.Rel(g.world.CodexHome, folder)
	return err == nil && strings.HasPrefix(below, "memories")
}

// awaitOpening waits while a request is under way that opens the thread: Codex may go on with a goal
// before the answer has been seen.
func (g *Guard) awaitOpening(ctx context.Context, id string) {
	g.threads.mu.Lock()
	waits := g.threads.underway[id]
	g.threads.mu.Unlock()
	if waits != nil {
		await(ctx, waits, g.peer.CodexDone())
	}
}

// isForgotten reports whether the client has opened the thread, or the one that a subagent's thread comes from,
// and it may take no turn any more.
func (g *Guard) isForgotten(params rpc.Value) bool {
	id, ok := params.Get("threadId").Text()
	if !ok {
		id, _ = params.Get("conversationId").Text() // legacy approvals
	}
	turn, _ := params.Get("turnId").Text()
	return g.isOpened(id) && g.thread(id, turn) == nil
}

// isOpened reports whether the client has opened the thread, or one that a subagent's thread comes from.
func (g *Guard) isOpened(id string) bool {
	for range deepest {
		if g.threads.opens(id) {
			return true
		}
		one := g.children.find(g.world.CodexHome, id)
		if one == nil {
			return false
		}
		id = one.Parent
	}
	return false
}
