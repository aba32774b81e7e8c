//go:build unix

package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/rpc"
)

// readOnly refuses shell commands, and marks the results of thread/start.
type readOnly struct{}

func (readOnly) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "thread/shellCommand", Why: "no commands", HandleClient: func(_ context.Context, m *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeRefused, "%s is not allowed", m.Method)
		}},
		{From: bridge.Client, Method: "thread/start", Why: "marked", HandleClient: func(_ context.Context, m *bridge.ClientMessage) *rpc.Error {
			m.OnResponse(func(r *bridge.ServerResponse) {
				if r.Outcome() == bridge.Succeeded {
					r.Line = rpc.EncodeResult(r.ID, []byte(`{"readOnly":true}`))
				}
			})
			return nil
		}},
	}
}

func (readOnly) Stage() bridge.Stage { return bridge.BeforeGuard }

// A Feature registers routes. Here a shell script plays Codex: it answers one request.
func ExampleFeature() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	client := `{"id":1,"method":"thread/shellCommand","params":{}}
{"id":2,"method":"thread/start","params":{}}
`
	started, err := codex.Start(codex.Command{Path: "/bin/sh", Args: []string{"-c", `read -r request && echo '{"id":2,"result":{}}'`}, Env: os.Environ()})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := bridge.NewProxy(bridge.Options{
		In: strings.NewReader(client), Out: os.Stdout,
		Upstream:   started,
		Features:   []bridge.Feature{readOnly{}},
		MaxMessage: 1 << 20, Grace: time.Minute, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background(), nil))
	// Output:
	// {"error":{"code":-32010,"message":"thread/shellCommand is not allowed"},"id":1}
	// {"id":2,"result":{"readOnly":true}}
	// exit status 0
}
