package turns

import (
	"context"
	"encoding/json"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
)

// Judge puts on record what is answered in a person's place.
type Judge interface {
	// Enforces tells whether the policy is in force.
	Enforces() bool
	// Settled puts an answer on record.
	Settled(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason string) error
}

// unanswered is why a question is declined that nobody can be asked.
const unanswered = "the client has said that nobody answers there (capabilities.bridge.approvals is false)"

// longest is how long a question waits for a message; its turn ends before.
const longest = 7 * 24 * time.Hour

const userInput = "item/tool/requestUserInput"

// approvals are what is declined where nobody answers.
var approvals = []string{
	"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
	"execCommandApproval", "applyPatchApproval", "mcpServer/elicitation/request",
}

// Answers tells whether the client answers what Codex asks, and else why it is not asked.
func (f *Feature) Answers() (ok bool, why string) {
	if f.silent.Load() {
		return false, unanswered
	}
	return true, ""
}

// Last is the part that stands behind all others: what rules and grants have not answered,
// and nobody is there to be asked.
func (f *Feature) Last() bridge.Feature { return last{f} }

type last struct{ f *Feature }

// Routes implements bridge.Feature.
func (l last) Routes() []bridge.Route {
	routes := []bridge.Route{{
		From: bridge.Codex, Method: userInput, Why: "the next message answers it, unless the client does", HandleServer: l.asks,
	}}
	for _, method := range approvals {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "declined, where the client answers nothing itself", HandleServer: l.declines})
	}
	return routes
}

func (l last) declines(ctx context.Context, said *bridge.ServerMessage) {
	if !l.f.silent.Load() || !said.ID.IsValid() {
		return
	}
	if l.f.o.Judge.Enforces() {
		// That it is not on record changes nothing: it is declined.
		_ = l.f.o.Judge.Settled(ctx, said.Envelope, policy.Deny, "approvals.nobody", unanswered)
	}
	if said.Method == approvals[0] {
		// A word that Codex takes though it offers another (measured), which would end the turn.
		said.Reply([]byte(`{"decision":"decline"}`))
		return
	}
	no, err := answer.Unattended(said.Method, said.Root().Get("params"))
	if err != nil {
		said.Refuse(asError(err))
		return
	}
	said.Reply(no)
}

// asks has the next message answer a question. A client that answers nothing is told of it
// in words; another may answer as well, and is told when it need not any more.
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
	held := said.Withhold(longest, func() []byte { return answer.Reply(nil, "") })
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
