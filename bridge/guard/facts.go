package guard

import (
	"os"
	"os/user"
	"sync"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/rpc"
)

// OnPassed registers f, which is called with each tool call that the policy lets run without a
// question. The decision log has such a call only if an exception allows it; then Rule is set. f must not wait. Call OnPassed before the conversation
// starts.
func (g *Guard) OnPassed(f func(decision.Record)) { g.passed = f }

// notifyPassed calls the function of OnPassed. rule is that of the decision log; "" if it has no entry.
func (g *Guard) notifyPassed(mode config.Mode, method, thread, turn, rule string, facts func() string) {
	if g.passed != nil {
		g.passed(decision.Record{
			Time: time.Now(), Client: g.clientName(), Method: method, Thread: display.Clip(thread), Turn: display.Clip(turn),
			Mode: string(mode), Verdict: string(policy.Pass), Rule: rule, Facts: facts(),
		})
	}
}

// callFacts returns the facts of a decision about a tool call by policies.
func callFacts(policies []*policy.Policy, use toolcall.Call, state policy.State) string {
	return encodeFacts(policies, replay.CallFacts(policies[0], use, state))
}

// requestFacts returns the facts of a decision about a request of Codex by policies.
func requestFacts(policies []*policy.Policy, method string, params rpc.Value, state policy.State) string {
	return encodeFacts(policies, replay.RequestFacts(policies[0], method, params, state))
}

// programFacts returns the facts of a decision about the start of a program by policies.
func programFacts(policies []*policy.Policy, id string, start supervise.Start, state policy.State) string {
	return encodeFacts(policies, replay.ProgramFacts(policies[0], id, startedPrograms(start), start.Unreadable, state))
}

// unknownFacts returns the facts of a decision that can't be recomputed.
func unknownFacts(id, reason string) string {
	return string(replay.Facts{ID: id, User: userName(), Unknown: reason}.Encode())
}

func encodeFacts(policies []*policy.Policy, f replay.Facts) string {
	if len(policies) > 1 {
		return unknownFacts(f.ID, "its thread was checked against more than one policy")
	}
	f.User = userName()
	return string(f.Encode())
}

// userName returns the user's name at the operating system; "" if it is unknown.
var userName = sync.OnceValue(func() string {
	if account, err := user.Current(); err == nil {
		return account.Username
	}
	return os.Getenv("USER")
})

// RequestFacts returns the facts of the question whether to accept a request of Codex. callKnown reports
// that a question about a tool of an MCP server is Codex's own.
func (g *Guard) RequestFacts(method string, params rpc.Value, callKnown bool) string {
	thread, _ := params.Get("threadId").Text()
	policies := g.policies(thread)
	state := g.currentState(params)
	state.Escalation, state.ThreadRevoked = g.findEscalation(method, params, state), g.isRevoked(params)
	state.CallKnown = callKnown
	state.Paths = &replay.PathLog{Paths: state.Paths}
	serverrequest.Decide(policies[0], method, params, state) // resolves the paths
	return requestFacts(policies, method, params, state)
}
