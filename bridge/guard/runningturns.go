package guard

import (
	"context"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// turnStarted handles Codex's notification that a turn runs.
func (g *Guard) turnStarted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	if turn, _ := params.Get("turn").Get("id").Text(); thread != "" && turn != "" {
		g.threads.apply(thread, turnBegun{client: g, turn: turn})
	}
}

// turnCompleted handles Codex's notification that the turn of a thread has ended. The id of a review in it is
// another than that in turn/started.
func (g *Guard) turnCompleted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	if thread, ok := params.Get("threadId").Text(); ok {
		turn, _ := params.Get("turn").Get("id").Text()
		g.endTurn(thread, turn)
	}
}

// threadStatusChanged handles a notification that every client gets, also one that has not opened the thread.
func (g *Guard) threadStatusChanged(_ context.Context, msg *bridge.ServerMessage) {
	if id, ended := endedThread(msg.Root().Get("params")); ended {
		g.endTurn(id, "")
	}
}

// ThreadStatusChanged handles the params of a thread/status/changed, by which no turn may run any more, from a connection
// that no client can delay.
//
// Measured with Codex 0.169: only clients that have opened the thread get turn/completed, but each one gets
// thread/status/changed, also after the last client has left the thread during a turn.
func (g *Guard) ThreadStatusChanged(params rpc.Value) {
	if id, ended := endedThread(params); ended {
		g.forgetTurn(id)
		g.endTurns(id)
	}
}

// endTurns releases what the turns of a thread have, or all of its turns if none is named.
func (g *Guard) endTurns(thread string, turns ...string) {
	g.mountPoints.Release(thread, turns...)
	if g.turnEnded != nil {
		g.turnEnded(thread, turns...)
	}
}

// endedThread returns the thread in the params of a thread/status/changed, and whether no turn runs in it.
func endedThread(params rpc.Value) (id string, ended bool) {
	id, named := params.Get("threadId").Text()
	status, known := params.Get("status").Get("type").Text()
	return id, named && known && status != "active"
}

// endTurn forgets the turn of a thread, and removes its mount points. turn is the id that Codex reports, if it does. Of
// several clients each one learns of the end, and a slow one perhaps during the next turn: its mount points stay.
func (g *Guard) endTurn(thread, turn string) {
	last := g.forgetTurn(thread)
	switch {
	case g.subscribers == nil:
		g.endTurns(thread)
	case last != "" || turn != "":
		g.endTurns(thread, last, turn)
	}
}

const elicitation = methods.Elicitation

// isOfRunningTurn reports whether a question of Codex names the turn that runs in its thread. It is true for
// other requests, for threads that no client has opened, whose questions a later feature declines, and for an
// MCP server that asks without a turn.
func (g *Guard) isOfRunningTurn(request *rpc.Envelope) bool {
	params := request.Root().Get("params")
	if !methods.IsForPerson(request.Method) && request.Method != methods.ToolCall || request.Method == elicitation && params.Get("turnId").Kind() <= rpc.Null {
		return true
	}
	thread := subjectOf(request.Method, params, nil).thread
	turn, _ := params.Get("turnId").Text()
	switch {
	case !g.isOpened(thread):
		return true
	case turn == "" && !methods.IsLegacyApproval(request.Method):
		return false
	case g.runsTurn(thread, turn):
		return true
	}
	thread, turn = strings.Clone(thread), strings.Clone(turn)
	recorded := ""
	if !g.awaitDisk(func() { recorded = rollout.RunningTurn(g.world.CodexHome, g.rolloutOf(thread)) }) {
		return false
	}
	return recorded != "" && (turn == recorded || turn == "")
}

// rolloutOf returns Codex's file of a thread or of an agent; "" if it is not known.
func (g *Guard) rolloutOf(thread string) string {
	if one := g.threads.peek(thread); one != nil {
		return one.Rollout
	}
	if one := g.child(thread); one != nil {
		return one.Path
	}
	return ""
}

// ruleTurn is the rule of refuseTurn in the decision log.
const ruleTurn = "approvals.turn"

// refuseTurn returns the refusal of a question whose turn does not run.
func refuseTurn(by *policy.Policy, request *rpc.Envelope) requestDecision {
	const reason = "Codex asks for a turn that does not run in this thread"
	return requestDecision{
		policy.Decision{Verdict: policy.Deny, Answer: policy.DeclineResult(request.Method, reason), Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
			Method: request.Method, Rule: ruleTurn, Reason: reason, Hint: "if a turn waits for the answer, send the message again",
		})}, by, unknownFacts("", "it depends on the turn that ran"),
	}
}

// warnTurn tells the user, once for each turn, that a question of an MCP server has the refusal of refuseTurn.
// Other questions name a call, and notifyApplied tells the user of it.
func (g *Guard) warnTurn(request *rpc.Envelope, d policy.Decision) {
	r := d.Refusal()
	if r == nil || r.Rule != ruleTurn || request.Method != elicitation {
		return
	}
	params := request.Root().Get("params")
	about := subjectOf(request.Method, params, nil)
	if server, _ := params.Get("serverName").Text(); g.notices.add("turn " + about.thread + " " + about.turn) {
		g.warnThread(about.thread, "codex-bridge has declined a question of the MCP server "+display.Quote(server)+": "+r.Sentence())
	}
}
