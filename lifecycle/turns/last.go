package turns

import (
	"context"
	"encoding/json"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

// Judge logs answers that the bridge gives instead of a person.
type Judge interface {
	// Enforces reports whether the policy is enforced.
	Enforces() bool
	// RecordAnswer logs an answer.
	RecordAnswer(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason, facts string) error
}

// unanswered is the reason for declining a question that no person can answer.
const unanswered = "the client has said that nobody answers there (capabilities.bridge.approvals is false)"

// maxQuestionWait is how long a question waits for a message. Its turn ends before.
const maxQuestionWait = 7 * 24 * time.Hour

// Answers reports whether the client answers Codex's requests, and if not, why.
func (f *Feature) Answers() (ok bool, why string) {
	if f.silent.Load() {
		return false, unanswered
	}
	return true, ""
}

// Last returns the feature that comes after all others. It handles the requests of Codex that rules
// and grants have not answered.
func (f *Feature) Last() bridge.Feature { return last{f} }

type last struct{ f *Feature }

// Routes implements bridge.Feature.
func (l last) Routes() []bridge.Route {
	routes := []bridge.Route{{
		From: bridge.Codex, Method: methods.UserInput, Why: "the next message answers it, unless the client does", HandleServer: l.asks,
	}}
	for _, method := range methods.ForPerson() {
		if method == methods.UserInput {
			continue
		}
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "declined, where the client answers nothing itself", HandleServer: l.declines})
	}
	return routes
}

// Stage implements bridge.Feature.
func (last) Stage() bridge.Stage { return bridge.Last }

func (l last) declines(ctx context.Context, said *bridge.ServerMessage) {
	if !l.f.silent.Load() || !said.ID.IsValid() {
		return
	}
	if l.f.o.Judge.Enforces() {
		// A failure to log changes nothing: the request is declined.
		_ = l.f.o.Judge.RecordAnswer(ctx, said.Envelope, policy.Deny, policy.RuleNobody, unanswered, "")
	}
	no, err := answer.Unattended(said.Method, said.Root().Get("params"))
	if err != nil {
		said.Refuse(asError(err))
		return
	}
	said.Reply(no)
}

// asks lets the next message answer a question. A client that answers no requests gets the question
// as text. Other clients get the request too and may answer it.
func (l last) asks(_ context.Context, said *bridge.ServerMessage) {
	if !l.f.o.Known() || !said.ID.IsValid() {
		return
	}
	id, asked := said.ID.Clone(), said.Clone()
	params := asked.Root().Get("params")
	if !l.f.silent.Load() {
		if len(answer.Questions(params)) == 0 {
			return
		}
		either := said.Share()
		thread, _ := params.Get("threadId").Text()
		l.f.questions.ask(id, params, func(result json.RawMessage) { either.Reply(result) })
		said.OnResponse(func(*bridge.ClientResponse) { l.f.questions.resolved(thread, id) })
		return
	}
	held := said.Withhold(maxQuestionWait, func() []byte { return answer.Reply(nil, "") })
	lines := l.f.questions.ask(id, params, func(result json.RawMessage) { held.Reply(result) })
	if lines == nil {
		return
	}
	told := map[string]any{"lines": lines}
	for _, name := range []string{"threadId", "turnId", "itemId"} {
		if v := params.Get(name); v.Exists() {
			told[name] = json.RawMessage(v.Raw())
		}
	}
	l.f.o.Tell("bridge/turn/question", told)
}
