package approvals

import (
	"context"
	"fmt"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

const (
	ruleShared = "approvals.shared"
	ruleLimit  = "approvals.limit"
)

// waiter is a question that waits for the answer to an equal one.
type waiter struct {
	question *rpc.Envelope
	request  *bridge.ServerRequest
}

// admit reports whether to send a question to the client. It is not sent while an equal one
// is pending, nor after 12 questions within a minute.
func (f *Feature) admit(ctx context.Context, msg *bridge.ServerMessage, asked *rpc.Envelope, key Key, wait time.Duration) bool {
	id, params := asked.ID.Key(), asked.Root().Get("params")
	if params.Get("requestedSchema").Get("properties").Len() > 0 {
		key = Key{} // a form: its values apply only to this question
	}
	place := f.pending.Join(key, id, func() *waiter {
		return &waiter{question: asked, request: msg.Withhold(wait, func() []byte {
			f.pending.Settle(id)
			return f.timeoutResult(ctx, asked, wait)
		})}
	})
	switch {
	case place == Waiting:
		return false
	case place == TooMany:
		f.reject(ctx, msg, "too many equal questions are pending")
		return false
	case !f.Limiter.Allow(f.rateLimitKey(params), id):
		f.pending.Settle(id) // no other question waits for it yet
		f.reject(ctx, msg, fmt.Sprintf("the client was asked %d questions within a minute", MaxQuestions))
		return false
	}
	return true
}

// rateLimitKey returns the thread whose limit applies: a subagent's root thread, and "" for
// all threads that were not opened here. Otherwise each subagent would have a limit of its
// own.
func (f *Feature) rateLimitKey(params rpc.Value) string {
	id, _ := params.Get("threadId").Text()
	if id == "" {
		id, _ = params.Get("conversationId").Text()
	}
	if f.Policy.Workspace(id) == "" {
		return ""
	}
	return f.Policy.Session(id)
}

func (f *Feature) reject(ctx context.Context, msg *bridge.ServerMessage, reason string) {
	f.logDecision(ctx, msg.Envelope, policy.Deny, ruleLimit, reason)
	msg.Reply(result(msg.Method, msg.Root().Get("params"), answer.Unavailable))
}

// shareOutcome answers all questions that wait for the outcome of a question.
func (f *Feature) shareOutcome(ctx context.Context, id rpc.ID, o answer.Outcome) {
	for _, w := range f.pending.Settle(id.Key()) {
		method, params := w.question.Method, w.question.Root().Get("params")
		verdict, reason := policy.Accept, "the client has allowed an equal question"
		switch {
		case o == answer.Unavailable:
			verdict, reason = policy.Deny, "an equal question ended without an answer"
		case !o.Approved():
			verdict, reason = policy.Deny, "the client has refused an equal question"
		case !f.Policy.StaysInSandbox(method, params): // it may have changed meanwhile
			o, verdict, reason = answer.Denied, policy.Deny, "the client has allowed an equal question, but this one may leave the sandbox"
		}
		if !f.logDecision(ctx, w.question, verdict, ruleShared, reason) && o.Approved() {
			o = answer.Denied
		}
		w.request.Reply(result(method, params, o))
	}
}

// handleResolved handles the end of a question without the client's answer. Questions that
// wait for that answer are declined.
func (f *Feature) handleResolved(ctx context.Context, msg *bridge.ServerMessage) {
	if id, ok := rpc.ParseID(msg.Root().Get("params").Get("requestId")); ok {
		f.shareOutcome(ctx, id, answer.Unavailable)
	}
}

// responseOutcome returns the outcome of the response that Codex gets.
func responseOutcome(method string, line []byte) answer.Outcome {
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
