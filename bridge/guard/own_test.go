package guard_test

import (
	"context"
	"log/slog"
	"testing"

	"codex-bridge/bridge"
	"codex-bridge/bridge/bridgetest"
	"codex-bridge/bridge/guard"
	"codex-bridge/rpc"
)

// echo answers bridge/echo, as a feature behind that of Own does.
type echo struct{}

func (echo) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: "bridge/echo", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		call.Reply([]byte(`{}`))
		return nil
	}}}
}

// A method of the bridge's own is refused where an enforced policy denies it.
func TestOwnMethodIsDenied(t *testing.T) {
	const (
		passes  = `editor< {"id":1,"result":{}}`
		refused = `editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}`
	)
	for name, test := range map[string]struct{ mode, methods, want string }{
		"denied":             {"enforce", `"bridge/echo" = "deny"`, refused},
		"another one denied": {"enforce", `"bridge/other" = "deny"`, passes},
		"none denied":        {"enforce", ``, passes},
		"denied, audit":      {"audit", `"bridge/echo" = "deny"`, passes},
		"denied, off":        {"off", `"bridge/echo" = "deny"`, passes},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard.New(load(t, readOnlyPolicy+"mode = \""+test.mode+"\"\n[policy.methods]\n"+test.methods+"\n"), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
			c := bridgetest.Start(t, g.Own(), echo{}, g)
			c.Play(name, `editor> {"id":1,"method":"bridge/echo","params":{"threadId":"t"}}`+"\n"+test.want+"\n")
		})
	}
}
