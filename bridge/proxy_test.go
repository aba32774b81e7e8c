package bridge_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// feature is a Feature made of routes.
type feature []bridge.Route

func (f feature) Routes() []bridge.Route { return f }

func (feature) Stage() bridge.Stage { return bridge.BeforeGuard }

// sessions plays every file in testdata/sessions whose name starts with prefix.
func sessions(t *testing.T, prefix string, features func(t *testing.T) []bridge.Feature) {
	t.Helper()
	files, err := filepath.Glob("../testdata/sessions/" + prefix + "*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			bridgetest.Start(t, features(t)...).Play(file, string(text))
		})
	}
}

// Without features the proxy is transparent, and answers messages that Codex would drop.
func TestTransparentSessions(t *testing.T) {
	sessions(t, "transparent-", func(*testing.T) []bridge.Feature { return nil })
}

// The routes of TestRoutedSessions: one for each possibility of a handler.
func TestRoutedSessions(t *testing.T) {
	sessions(t, "routed-", func(*testing.T) []bridge.Feature {
		return []bridge.Feature{
			feature{
				{From: bridge.Client, Method: "refuse", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
					return rpc.Errorf(rpc.CodeRefused, "refused")
				}},
				{From: bridge.Client, Method: "answer", HandleClient: func(_ context.Context, c *bridge.ClientMessage) *rpc.Error {
					c.Reply([]byte(`{"by":"bridge"}`))
					return nil
				}},
				{From: bridge.Client, Method: "rewrite", HandleClient: func(_ context.Context, c *bridge.ClientMessage) *rpc.Error {
					p := rpc.NewPatch(c.Message)
					p.Set(c.Params, "added", []byte("true"))
					c.Line = p.Bytes()
					return nil
				}},
				{From: bridge.Client, Method: "watch", HandleClient: func(_ context.Context, c *bridge.ClientMessage) *rpc.Error {
					c.OnResponse(func(a *bridge.ServerResponse) {
						if a.Result().Get("bad").Exists() {
							a.Line = rpc.EncodeError(a.ID, rpc.Errorf(rpc.CodeNotVerified, "bad"))
						}
					})
					return nil
				}},
				{From: bridge.Codex, Method: "secret", HandleServer: func(_ context.Context, s *bridge.ServerMessage) { s.Line = nil }},
				{From: bridge.Codex, Method: "loud", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
					s.Line = []byte(strings.ToLower(string(s.Line)))
				}},
			},
			&asker{},
		}
	})
}

// asker calls Codex before it forwards a message.
type asker struct{ conn *bridge.Conn }

func (a *asker) Attach(p *bridge.Conn) { a.conn = p }

func (a *asker) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: "ask", HandleClient: func(ctx context.Context, c *bridge.ClientMessage) *rpc.Error {
		result, err := a.conn.Call(ctx, "own/question", map[string]int{"n": 1})
		if err != nil {
			return rpc.Errorf(rpc.CodeUpstream, "%v", err)
		}
		c.Reply(result.Raw())
		return nil
	}}}
}

func (*asker) Stage() bridge.Stage { return bridge.BeforeGuard }

func TestRouteNeedsHandlerOfItsSide(t *testing.T) {
	_, err := bridge.NewProxy(bridge.Options{Features: []bridge.Feature{feature{{From: bridge.Codex, Method: "x",
		HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error { return nil }}}}})
	if err == nil {
		t.Error("a handler for the client's messages was taken for codex's")
	}
}
