package serve_test

import (
	"context"
	"log/slog"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

func newClients() *serve.Clients {
	return serve.NewClients(serve.ClientsOptions{
		Parent: func(thread string) string {
			if thread == "agent" {
				return "t"
			}
			return ""
		},
		Decline: func(string, rpc.Value) []byte { return []byte(`{"decision":"decline"}`) },
		Log:     slog.New(slog.DiscardHandler),
	})
}

func clientOptions() serve.ClientOptions {
	return serve.ClientOptions{
		Name:      func() string { return "a client" },
		IsOwnTool: func(params rpc.Value) bool { return params.Get("tool").Is("mine") },
		Decide: func(context.Context, *hook.Call, bool) hook.Answer {
			return hook.Answer{Decision: hook.Allow}
		},
	}
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

const question = `{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u"}}`

// A request that begins no turn does not make its client the owner of a turn that begins meanwhile.
func TestPendingRequestOwnsNoTurn(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"thread/sample", "thread/prediction/request", "thread/revert"} {
		all := newClients()
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
editor< `+question+`
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

// A question without the client that began the turn is declined even if the first client of the thread
// does not read it.
func TestAnyClientDeclines(t *testing.T) {
	t.Parallel()
	all := newClients()
	open(t, all) // is stopped
	a, b := open(t, all), open(t, all)
	a.Play("a", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
`)
	a.Leave()
	b.Play("b", `
codex> `+question+`
codex< {"id":7,"result":{"decision":"decline"}}
`)
}

// A question is declined when the client that began the turn leaves, even after the ignored answer of
// another client.
func TestIgnoredAnswerLeavesQuestionOpen(t *testing.T) {
	t.Parallel()
	all := newClients()
	a, b := open(t, all), open(t, all)
	a.Play("a", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
`)
	b.Play("b", `
codex> `+question+`
editor< `+question+`
editor> {"id":7,"result":{"decision":"accept"}}
editor> {"id":7,"result":{"decision":"accept"}}
editor> {"id":3,"method":"ping","params":{}}
codex< {"id":3,"method":"ping","params":{}}
`)
	a.Leave()
	b.Play("b", `
codex< {"id":7,"result":{"decision":"decline"}}
`)
}

// A tool call that another client runs gets a result when that client leaves.
func TestToolOfClientThatLeaves(t *testing.T) {
	t.Parallel()
	all := newClients()
	a, b := open(t, all), open(t, all)
	a.Play("a", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
`)
	b.Play("b", `
codex> {"id":7,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","tool":"x"}}
codex> {"method":"noise"}
editor< {"method":"noise"}
`)
	a.Leave()
	b.Play("b", `
codex< {"id":7,"result":{"contentItems":[{"type":"inputText","text":"The client that runs this tool has gone."}],"success":false}}
`)
}

// A tool call that comes after its client has left gets a result, too, and not the editor of another client.
func TestToolOfClientThatHasLeft(t *testing.T) {
	t.Parallel()
	all := newClients()
	a, b := open(t, all), open(t, all)
	a.Play("a", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex< {"id":2,"method":"turn/start","params":{"threadId":"t"}}
codex> {"id":2,"result":{"turn":{"id":"u"}}}
editor< {"id":2,"result":{"turn":{"id":"u"}}}
`)
	a.Leave()
	b.Play("b", `
codex> {"id":7,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","tool":"mine"}}
codex< {"id":7,"result":{"contentItems":[{"type":"inputText","text":"The client that runs this tool has gone."}],"success":false}}
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
}

// A client that is about to unsubscribe does not count as one that stays.
func TestUnsubscribingClientsDoNotShare(t *testing.T) {
	t.Parallel()
	all := newClients()
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
	all := newClients()
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
editor< `+asks+`
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
	all := newClients()
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
