package bridge_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// Each line that breaks the protocol is logged, and the client gets the error that LogRefused returns.
func TestRefusedLinesAreLogged(t *testing.T) {
	const unreadable = `{"id":9,"result":1,"result":2}`
	var mu sync.Mutex
	var logged []string
	c := bridgetest.StartAs(t, bridge.Options{
		AnswerAll: func() bool { return true }, Enforces: func() bool { return true },
		Features: []bridge.Feature{feature{{From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error { return nil }}}},
		LogRefused: func(_ context.Context, m *rpc.Message, line []byte, refused *rpc.Error) *rpc.Error {
			mu.Lock()
			defer mu.Unlock()
			method := "unreadable"
			if m != nil {
				method = m.Method
			}
			if !strings.Contains(string(line), `"method"`) && string(bytes.TrimSpace(line)) != unreadable {
				t.Errorf("the line is %q", line)
			}
			logged = append(logged, method)
			return rpc.WithData(refused, "logged")
		},
	})
	c.Play("refused", `
editor> {"id":1,"method":"a"}
codex< {"id":1,"method":"a"}
editor> {"id":1,"method":"b"}
editor< {"error":{"code":-32600,"message":"<text>","data":"logged"},"id":1}
editor> {"id":2,"method":"c","params":[]}
editor< {"error":{"code":-32602,"message":"<text>","data":"logged"},"id":2}
editor> {"id":3,"method":"d","method":"e"}
editor< {"error":{"code":-32700,"message":"<text>","data":"logged"},"id":3}
editor> {"id":null,"method":"f"}
editor< {"error":{"code":-32600,"message":"<text>","data":"logged"},"id":null}
editor> `+unreadable+`
editor< {"error":{"code":-32700,"message":"<text>"},"id":null}
editor> {"id":4,"method":"g"}
codex< {"id":4,"method":"g"}
`)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"b", "c", "unreadable", "unreadable", "unreadable"}; !slices.Equal(logged, want) {
		t.Errorf("logged are %q", logged)
	}
}
