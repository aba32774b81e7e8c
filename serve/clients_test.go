package serve_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

// newClients returns clients. The channel gets the requests that they decline in the place of a client.
func newClients(any bool) (*serve.Clients, <-chan string) {
	declined := make(chan string, 16)
	return serve.NewClients(serve.ClientsOptions{
		Parent: func(thread string) string {
			if thread == "agent" {
				return "t"
			}
			return ""
		},
		AnyMayAnswer: any,
		Timeout:      func() time.Duration { return time.Hour },
		Decline:      func(asked *rpc.Envelope, rule, _ string) { declined <- string(asked.ID.Raw()) + " " + rule },
		NoClient:     func(context.Context, *hook.Call) hook.Answer { return hook.Answer{Decision: hook.Deny} },
		Log:          slog.New(slog.DiscardHandler),
	}), declined
}

// isDeclined fails unless question 7 is declined, since the client that began the turn has gone.
func isDeclined(t *testing.T, declined <-chan string) {
	t.Helper()
	if got := <-declined; got != "7 serve.answer" {
		t.Errorf("declined %s", got)
	}
}

func clientOptions() serve.ClientOptions {
	return serve.ClientOptions{
		Name:        func() string { return "a client" },
		KnowsBridge: func() bool { return false },
		HasPerson:   func() (bool, string) { return true, "" },
		IsOwnTool:   func(params rpc.Value) bool { return params.Get("tool").Is("mine") },
		Decide: func(context.Context, *hook.Call, bool) hook.Answer {
			return hook.Answer{Decision: hook.Allow}
		},
		Refuse: refuse,
	}
}

// refuse implements ClientOptions.Refuse without a log.
func refuse(_ context.Context, call *bridge.ClientMessage, code rpc.Code, r policy.Refusal) *rpc.Error {
	r.Method = call.Method
	return policy.NewRefusalError(code, r)
}

type client struct {
	*serve.Client
	*bridgetest.Conversation
}

// open returns a client that has opened the thread "t".
func open(t *testing.T, all *serve.Clients) client {
	t.Helper()
	one := all.NewClient(clientOptions())
	one.Join()
	c := client{one, bridgetest.StartAs(t, bridge.Options{
		Features:  []bridge.Feature{one, one.Requests(), one.Last()},
		AnswerAll: func() bool { return true },
	})}
	c.Play("open", `
editor> {"id":1,"method":"thread/resume","params":{"threadId":"t"}}
codex< {"id":1,"method":"thread/resume","params":{"threadId":"t"}}
codex> {"id":1,"result":{"thread":{"id":"t"}}}
editor< {"id":1,"result":{"thread":{"id":"t"}}}
`)
	return c
}

const waits = `{"method":"warning","params":{"threadId":"<text>","message":"<text>"}}`

const question = `{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u"}}`

// An answer that can't be read is a refusal only of the client that gave it: it ends no question that another client
// may still answer, and none that its client may not answer.
func TestUnreadableAnswerIsOfOneClient(t *testing.T) {
	t.Parallel()
	const unreadable = `editor> {"id":7,"error":null}
editor< {"error":{"code":-32600,"message":"<text>"},"id":null}
`
	const refusal = `codex< {"error":{"code":-32600,"message":"<text>"},"id":7}
`
	asked := `
codex> ` + question + `
editor< ` + question + `
`
	all, _ := newClients(true)
	a, b := open(t, all), open(t, all)
	a.Play("asked", asked)
	b.Play("asked", asked)
	a.Play("unreadable", unreadable+`editor> {"id":3,"method":"ping","params":{}}
codex< {"id":3,"method":"ping","params":{}}
`)
	b.Play("the last answer", unreadable+refusal)

	all, _ = newClients(false)
	a, b = open(t, all), open(t, all)
	a.Play("begins", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
`)
	a.Play("asked", asked)
	b.Play("may not answer", `
codex> `+question+`
editor< `+waits+`
`+unreadable+`editor> {"id":3,"method":"ping","params":{}}
codex< {"id":3,"method":"ping","params":{}}
`)
	a.Play("answers", `
editor> {"id":7,"result":{"decision":"accept"}}
codex< {"id":7,"result":{"decision":"accept"}}
`)
}

// A request that begins no turn does not make its client the owner of a turn that begins meanwhile.
func TestPendingRequestOwnsNoTurn(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"thread/sample", "thread/prediction/request", "thread/revert"} {
		all, _ := newClients(false)
		a, b := open(t, all), open(t, all)
		b.Play("b", `
editor> {"id":2,"method":"`+method+`","params":{"threadId":"t"}}
codex< {"id":2,"method":"`+method+`","params":{"threadId":"t"}}
`)
		a.Play("a", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
`)
		b.Play("b", `
codex> {"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}
editor< {"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}
codex> `+question+`
editor< `+waits+`
editor> {"id":7,"result":{"decision":"accept"}}
editor> {"id":3,"method":"ping","params":{}}
codex< {"id":3,"method":"ping","params":{}}
`)
		a.Play("a", `
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
codex> `+question+`
editor< `+question+`
editor> {"id":7,"result":{"decision":"accept"}}
codex< {"id":7,"result":{"decision":"accept"}}
`)
	}
}

// A question is declined when the client that began the turn leaves, and when it comes afterwards.
func TestQuestionsAfterTheStarter(t *testing.T) {
	t.Parallel()
	all, declined := newClients(false)
	a, b := open(t, all), open(t, all)
	a.Play("a", beginTurn)
	b.Play("b", `
codex> `+question+`
editor< `+waits+`
`)
	a.Leave()
	isDeclined(t, declined)
	b.Play("b", `
codex> `+question+`
codex> {"method":"noise"}
editor< {"method":"noise"}
`)
	isDeclined(t, declined)
}

const beginTurn = `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
`

// A request that only one client answers gets an answer when that client leaves, too, and not from the editor of
// another client: a call of a tool, and one that has no result that declines.
func TestRequestsOfClientThatLeaves(t *testing.T) {
	t.Parallel()
	for _, request := range []string{`"item/tool/call","params":{"threadId":"t","turnId":"u","tool":"mine"}`, `"currentTime/read","params":{"threadId":"t"}`} {
		all, declined := newClients(true)
		a, b := open(t, all), open(t, all)
		a.Play("a", beginTurn)
		b.Play("b", `
codex> {"id":7,"method":`+request+`}
codex> {"method":"noise"}
editor< {"method":"noise"}
`)
		a.Leave()
		isDeclined(t, declined)
	}
}

// After its client has left, a tool call is answered at once; another client runs its own tools.
func TestToolOfClientThatHasLeft(t *testing.T) {
	t.Parallel()
	all, declined := newClients(true)
	a, b := open(t, all), open(t, all)
	a.Play("a", beginTurn)
	a.Leave()
	b.Play("b", `
codex> {"id":7,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","tool":"mine"}}
codex> {"id":8,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","tool":"of the bridge"}}
editor< {"id":8,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","tool":"of the bridge"}}
editor> {"id":8,"result":{}}
codex< {"id":8,"result":{}}
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"v"}}}
editor< {"id":2,"result":{"turn":{"id":"v"}}}
codex> {"id":9,"method":"item/tool/call","params":{"threadId":"t","turnId":"v","tool":"mine"}}
editor< {"id":9,"method":"item/tool/call","params":{"threadId":"t","turnId":"v","tool":"mine"}}
`)
	isDeclined(t, declined)
}

// A client that is about to unsubscribe does not count as one that stays.
func TestUnsubscribingClientsDoNotShare(t *testing.T) {
	t.Parallel()
	all, _ := newClients(false)
	a, b := open(t, all), open(t, all)
	if !a.IsShared("t") || !b.IsShared("t") {
		t.Fatal("the thread is not shared")
	}
	for _, c := range []client{a, b} {
		c.Play("unsubscribe", `
editor> {"id":2,"method":"thread/unsubscribe","params":{"threadId":"t"}}
codex< {"id":2,"method":"thread/unsubscribe","params":{"threadId":"t"}}
`)
	}
	if a.IsShared("t") || b.IsShared("t") {
		t.Error("both would leave the thread to the other")
	}
	if alone := b.Leave(); len(alone) != 1 {
		t.Errorf("the last client that stays has left, alone: %q", alone)
	}
	a.Play("a", `
codex> {"id":2,"error":{"code":-1,"message":"no"}}
editor< {"id":2,"error":{"code":-1,"message":"no"}}
`)
	if alone := a.Leave(); len(alone) != 1 {
		t.Errorf("after the refusal: %q", alone)
	}
}

// The client that began a turn answers for the turn's subagents, even if another client opens the thread of
// one.
func TestOpenedSubagentKeepsItsOwner(t *testing.T) {
	t.Parallel()
	all, _ := newClients(false)
	a, b := open(t, all), open(t, all)
	const asks = `{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"agent","turnId":"v"}}`
	a.Play("a", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
codex> {"method":"turn/started","params":{"threadId":"agent","turn":{"id":"v","rootTurnId":"u"}}}
editor< {"method":"turn/started","params":{"threadId":"agent","turn":{"id":"v","rootTurnId":"u"}}}
`)
	b.Play("b", `
editor> {"id":2,"method":"thread/resume","params":{"threadId":"agent"}}
codex< {"id":2,"method":"thread/resume","params":{"threadId":"agent"}}
codex> {"id":2,"result":{"thread":{"id":"agent"}}}
editor< {"id":2,"result":{"thread":{"id":"agent"}}}
codex> `+asks+`
editor< `+waits+`
editor> {"id":7,"result":{"decision":"accept"}}
editor> {"id":3,"method":"ping","params":{}}
codex< {"id":3,"method":"ping","params":{}}
`)
	a.Play("a", `
codex> `+asks+`
editor< `+asks+`
editor> {"id":7,"result":{"decision":"accept"}}
codex< {"id":7,"result":{"decision":"accept"}}
`)
}

// A client gets hooks only after Join: before, its functions may not work yet.
func TestHooksOnlyAfterJoin(t *testing.T) {
	t.Parallel()
	all, _ := newClients(false)
	one := all.NewClient(clientOptions())
	call := &hook.Call{Event: hook.PreToolUse}
	if got := all.Decide(t.Context(), call); got.Decision != hook.Deny {
		t.Errorf("before: %+v", got)
	}
	one.Join()
	if got := all.Decide(t.Context(), call); got.Decision != hook.Allow {
		t.Errorf("after: %+v", got)
	}
}
