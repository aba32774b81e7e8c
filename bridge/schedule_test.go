package bridge_test

import (
	"context"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// slowFeature holds requests "x/slow" until release is closed.
type slowFeature struct{ release chan struct{} }

func (f slowFeature) Routes() []bridge.Route {
	hold := func(_ context.Context, m *bridge.ClientMessage) *rpc.Error {
		m.LetReadsPass()
		<-f.release
		return nil
	}
	pass := func(context.Context, *bridge.ClientMessage) *rpc.Error { return nil }
	return []bridge.Route{
		{From: bridge.Client, Method: "x/slow", Why: "held", HandleClient: hold},
		{From: bridge.Client, Method: bridge.Other, Why: "none", HandleClient: pass},
	}
}

func (slowFeature) Stage() bridge.Stage { return bridge.BeforeGuard }

// Requests that change nothing pass a message that waits for long, but no other message.
func TestReadsPass(t *testing.T) {
	for name, thread := range map[string]string{"without a thread": "", "of a thread": `"threadId":"t"`} {
		t.Run(name, func(t *testing.T) {
			f := slowFeature{make(chan struct{})}
			c := bridgetest.StartAs(t, bridge.Options{Features: []bridge.Feature{f}, Reads: func(method string) bool { return method == "x/read" }})
			line := func(id, method string) string {
				return `{"id":` + id + `,"method":"` + method + `","params":{` + thread + `}}`
			}
			expect := func(id, method string) {
				t.Helper()
				if got := strings.TrimSpace(<-c.CodexReceives()); got != line(id, method) {
					t.Errorf("Codex gets %s; want %s", got, line(id, method))
				}
			}
			c.EditorSends(line("1", "x/slow"))
			c.EditorSends(line("2", "x/read"))
			expect("2", "x/read")
			c.EditorSends(line("3", "x/read"))
			expect("3", "x/read")
			c.EditorSends(line("4", "x/write"))
			c.EditorSends(line("5", "x/read"))
			close(f.release)
			expect("1", "x/slow")
			expect("4", "x/write")
			expect("5", "x/read")
		})
	}
}
