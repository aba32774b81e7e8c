package guard

import (
	"bytes"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// diskTimeout is how long a message of Codex waits for the disk, such as for a folder of a network that
// does not answer. The messages of other threads wait as long, because one goroutine reads them all.
const diskTimeout = 5 * time.Second

// noAnswerReason is why a thread or a question is refused after diskTimeout.
const noAnswerReason = "the disk does not answer for its folders"

// awaitDisk reports whether f, which asks the disk, has ended in time. Otherwise f goes on: it must not use
// the message that is being handled, nor what the caller uses then.
func (g *Guard) awaitDisk(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(g.diskTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// registerOpened verifies a thread that a response has opened. If the disk does not answer, the thread
// takes no turns until the client opens it again.
func (g *Guard) registerOpened(o openedThread) *rpc.Error {
	opened := newOpenedThread(o)
	v := g.threads.beginOpened(g.policy.Load, g, opened)
	var err *rpc.Error
	if g.awaitDisk(func() { err = g.threads.finishOpened(g.policy.Load, v, opened) }) {
		return err
	}
	g.threads.apply(opened.id, threadRefused{})
	return rpc.Errorf(rpc.CodeNotVerified, "%s: %s; open the thread again when they can be read", display.Clip(o.sent.Method), noAnswerReason)
}

// verifyUpdate verifies the settings in a thread/settings/updated. While the disk does not answer, the
// thread takes no turns.
func (g *Guard) verifyUpdate(msg *bridge.ServerMessage, id string) {
	v := g.threads.beginUpdate(g.policy.Load, g, id, msg.Root().Get("params").Get("threadSettings"))
	if v == nil {
		return
	}
	line, method := bytes.Clone(msg.Line), msg.Method
	if g.awaitDisk(func() {
		if err := g.threads.finish(g.policy.Load, id, v); err != nil {
			g.log.Error("the policy does not allow the settings of a thread; it takes no turn until the client resumes it",
				"thread", id, "error", err.Message)
			g.recordRevoked(method, rpc.ID{}, id, line, err)
		}
	}) {
		return
	}
	g.threads.apply(id, diskSilent{})
	g.log.Error("a thread takes no turns: "+noAnswerReason, "thread", id)
}

// requestDecision is a decision about a request of Codex, by one of the policies.
type requestDecision struct {
	policy.Decision
	by    *policy.Policy
	facts string
}

// decideRequest decides a request of Codex by the strictest policy. It refuses a request for whose paths
// the disk does not answer.
func (g *Guard) decideRequest(policies []*policy.Policy, request *rpc.Envelope, state policy.State) requestDecision {
	request = request.Clone()
	params := request.Root().Get("params")
	var d requestDecision
	if g.awaitDisk(func() {
		state.Paths = &replay.PathLog{Paths: state.Paths}
		d.Decision, d.by = strictest(policies, func(p *policy.Policy) policy.Decision { return serverrequest.Decide(p, request.Method, params, state) }, strictness)
		if d.Verdict != policy.Pass {
			d.facts = requestFacts(policies, request.Method, params, state)
		}
	}) {
		return d
	}
	refusal := policy.Refusal{Method: request.Method, Rule: "policy.mode", Reason: noAnswerReason, Hint: "ask again when they can be read"}
	return requestDecision{
		policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeNotVerified, refusal)}, policies[0],
		unknownFacts("", noAnswerReason),
	}
}
