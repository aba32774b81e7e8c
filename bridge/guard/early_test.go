package guard_test

import (
	"context"
	"log/slog"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// either may answer a question as well as the client. It keeps the question with its route
// until the test goes on.
type either struct{ seen, goOn chan struct{} }

func (e either) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: "item/commandExecution/requestApproval", Why: "t", HandleServer: func(_ context.Context, said *bridge.ServerMessage) {
		said.Share()
		e.seen <- struct{}{}
		<-e.goOn
	}}}
}

func (either) Stage() bridge.Stage { return bridge.Last }

// A response that the client sends before it has the request reaches Codex only if no policy checks
// responses (R2). A later response is checked.
func TestEarlyAnswerIsNotPassedOn(t *testing.T) {
	for name, test := range map[string]struct{ policy, play string }{
		"a policy": {readOnlyPolicy + "escalation = \"ask\"\n", `
codex< {"id":2,"method":"model/list","params":{}}
`},
		"no policy": {"", `
codex< {"id":0,"result":{"decision":"acceptForSession"}}
codex< {"id":2,"method":"model/list","params":{}}
`},
	} {
		t.Run(name, func(t *testing.T) {
			e := either{make(chan struct{}), make(chan struct{})}
			g := guard.New(load(t, test.policy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
			c := bridgetest.Start(t, g, e)
			c.Play("hello", "editor> {\"id\":1,\"method\":\"model/list\",\"params\":{}}\ncodex< {\"id\":1,\"method\":\"model/list\",\"params\":{}}")
			c.CodexSends(`{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i","command":"ls","cwd":"/"}}`)
			<-e.seen
			c.Play("early", `
editor> {"id":0,"result":{"decision":"acceptForSession"}}
editor> {"id":2,"method":"model/list","params":{}}
`+test.play)
			close(e.goOn)
			if name == "no policy" {
				return
			}
			c.Play("in time", `
editor< {"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i","command":"ls","cwd":"/","reason":"<text>"}}
editor> {"id":0,"result":{"decision":"acceptForSession"}}
codex< {"id":0,"result":{"decision":"accept"}}
`)
		})
	}
}
