package approvals

import (
	"context"
	"fmt"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
	"codex-bridge/relay/answer"
	"codex-bridge/relay/grants"
	"codex-bridge/rpc"
)

const (
	ruleShared = "approvals.shared"
	ruleLimit  = "approvals.limit"
)

// waiter is a question that waits for the answer to the same one.
type waiter struct {
	asked *rpc.Envelope
	held  *bridge.ServerRequest
}

// put says whether the client is to hear a question: not the second of two that are the
// same, while the first has no answer, and not the thirteenth in a minute.
func (f *Feature) put(ctx context.Context, said *bridge.ServerMessage, asked *rpc.Envelope, key grants.Key, wait time.Duration) bool {
	id, params := asked.ID.Key(), asked.Root().Get("params")
	if params.Get("requestedSchema").Get("properties").Len() > 0 {
		key = grants.Key{} // a form: what the person fills in is for this question
	}
	place := f.pending.Join(key, id, func() *waiter {
		return &waiter{asked: asked, held: said.Withhold(wait, func() []byte {
			f.pending.Settle(id)
			return f.late(ctx, asked, wait)
		})}
	})
	switch {
	case place == grants.Waits:
		return false
	case place == grants.Full:
		f.refuse(ctx, said, "too many wait for the answer to the same question")
		return false
	case !f.Limiter.Allow(f.thread(params)):
		f.pending.Settle(id) // nobody can wait for it yet
		f.refuse(ctx, said, fmt.Sprintf("the client was asked %d questions within a minute", grants.MostQuestions))
		return false
	}
	return true
}

// thread is whose questions count together: those of subagents with their parent's, and
// of threads that nobody has opened here with those of all such. Else a model could have
// as many questions as it has subagents.
func (f *Feature) thread(params rpc.Value) string {
	id, _ := params.Get("threadId").Text()
	if id == "" {
		id, _ = params.Get("conversationId").Text()
	}
	if f.Judge.Workspace(id) == "" {
		return ""
	}
	return f.Judge.Session(id)
}

func (f *Feature) refuse(ctx context.Context, said *bridge.ServerMessage, reason string) {
	f.settled(ctx, said.Envelope, policy.Deny, ruleLimit, reason)
	said.Reply(result(said.Method, said.Root().Get("params"), answer.Unavailable))
}

// share gives what became of a question to all that wait for its answer.
func (f *Feature) share(ctx context.Context, id rpc.ID, o answer.Outcome) {
	for _, w := range f.pending.Settle(id.Key()) {
		method, params := w.asked.Method, w.asked.Root().Get("params")
		verdict, reason := policy.Accept, "the client has allowed the same, which it was asked before"
		switch {
		case o == answer.Unavailable:
			verdict, reason = policy.Deny, "the same question was put before, and ended without an answer"
		case !o.Approved():
			verdict, reason = policy.Deny, "the client has refused the same, which it was asked before"
		case !f.Judge.Stays(method, params): // no longer, or the policy has changed
			o, verdict, reason = answer.Denied, policy.Deny, "the client has allowed the same, but this one may leave the sandbox"
		}
		if !f.settled(ctx, w.asked, verdict, ruleShared, reason) && o.Approved() {
			o = answer.Denied
		}
		w.held.Reply(result(method, params, o))
	}
}

// resolved takes note that codex waits for an answer no more: its turn has ended, or
// there was one. Who waits for that of a question which has ended so is refused: what
// the person would have said is not known.
func (f *Feature) resolved(ctx context.Context, said *bridge.ServerMessage) {
	if id, ok := rpc.ParseID(said.Root().Get("params").Get("requestId")); ok {
		f.share(ctx, id, answer.Unavailable)
	}
}

// outcome is what the answer that codex gets comes to.
func outcome(method string, line []byte) answer.Outcome {
	m, err := rpc.ParseMessage(line)
	if err != nil {
		return answer.Denied
	}
	word := m.Root().Get("result").Get("decision")
	if method == elicitation {
		word = m.Root().Get("result").Get("action")
	}
	switch {
	case word.Is("accept"):
		return answer.ApprovedOnce
	case word.Is("cancel"):
		return answer.Cancelled
	}
	return answer.Denied
}
