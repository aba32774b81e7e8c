package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/lifecycle/acp"
	"codex-bridge.example/rpc"
)

// says is a policy with a fixed decision.
type says policy.Decision

func (s says) Agent(context.Context, toolcall.AgentRequest, string, []byte) policy.Decision {
	return policy.Decision(s)
}

// AgentAllowed refuses what the policy refuses, and an answer that can't be logged.
func (s says) AgentAllowed(_ context.Context, _ toolcall.AgentRequest, _ string, _ []byte, reason string) *rpc.Error {
	if s.Err == nil && reason == "lost" {
		return rpc.Errorf(-1, "the decision log is away")
	}
	return s.Err
}

// asker is a client that answers and records the requests.
type asker struct {
	deaf   bool
	answer string
	err    error
	asked  []json.RawMessage
}

func (a *asker) Wants(event string) bool { return event == "permissionRequest" && !a.deaf }

func (a *asker) Hook(ctx context.Context, _ string, payload json.RawMessage) (json.RawMessage, error) {
	a.asked = append(a.asked, payload)
	if a.answer == "" && a.err == nil {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return json.RawMessage(a.answer), a.err
}

func TestDecide(t *testing.T) {
	command := "ls"
	ask := acp.Ask{Child: "c", Agent: "a", Call: "1", Kind: "execute", Title: "List", Command: &command, Cwd: "/w"}
	behind := ask
	behind.Behind = true
	person := says{Verdict: policy.Pass, Ask: true, AskReason: "Look first."}
	for _, test := range []struct {
		name   string
		policy says
		client asker
		ask    acp.Ask
		want   acp.Answer // without the reason, which only must be there for a no
		asked  int
	}{
		{"denied", says{Verdict: policy.Deny, Err: rpc.Errorf(-1, "no")}, asker{answer: `{"decision":"allow"}`}, ask, acp.Answer{}, 0},
		{"allowed by a rule", says{Verdict: policy.Accept}, asker{deaf: true}, ask, acp.Answer{Allow: true}, 0},
		{"nobody is there", person, asker{deaf: true}, ask, acp.Answer{}, 0},
		{"yes", person, asker{answer: `{"decision":"allow","reason":"fine"}`}, ask, acp.Answer{Allow: true}, 1},
		{"yes, and the log is away", person, asker{answer: `{"decision":"allow","reason":"lost"}`}, ask, acp.Answer{}, 1},
		{"a member that differs in case", person, asker{answer: `{"decision":"deny","Decision":"allow","reason":"x"}`}, ask, acp.Answer{}, 1},
		{"two decisions", person, asker{answer: `{"decision":"deny","decision":"allow"}`}, ask, acp.Answer{}, 1},
		{"no", person, asker{answer: `{"decision":"deny","reason":"not so"}`}, ask, acp.Answer{}, 1},
		{"yes for longer, in no sandbox", person, asker{answer: `{"decision":"allow","remember":"session"}`}, ask, acp.Answer{Allow: true}, 1},
		{"yes for longer, its bridge remembers", person, asker{answer: `{"decision":"allow","remember":"always"}`}, behind, acp.Answer{Allow: true, Lasts: true, Always: true}, 1},
		{"yes for good, in no sandbox", person, asker{answer: `{"decision":"allow","remember":"always"}`}, ask, acp.Answer{Allow: true}, 1},
		{"an error", person, asker{err: errors.New("not now")}, ask, acp.Answer{}, 1},
		{"no JSON", person, asker{answer: `yes`}, ask, acp.Answer{}, 1},
		{"no answer in time", person, asker{}, ask, acp.Answer{}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := acp.Judge{Policy: test.policy, Person: acp.NewClientApprover(&test.client, func() time.Duration { return time.Millisecond })}
			got := j.Decide(t.Context(), test.ask)
			if !got.Allow && got.Reason == "" && test.name != "no" {
				t.Error("no reason")
			}
			got.Reason = ""
			if got != test.want || len(test.client.asked) != test.asked {
				t.Errorf("%+v, asked %d times", got, len(test.client.asked))
			}
			for _, payload := range test.client.asked {
				const want = `{"acp":{"childSessionKey":"c","agentId":"a","toolCallId":"1","kind":"execute","title":"List","command":"ls","cwd":"/w"},` +
					`"cwd":"/w","hook_event_name":"PermissionRequest","reason":"Look first.","session_id":"c","tool_input":{"command":"ls"},"tool_name":"Bash","tool_use_id":"1"}`
				if string(payload) != want {
					t.Errorf("asked %s", payload)
				}
			}
		})
	}
}
