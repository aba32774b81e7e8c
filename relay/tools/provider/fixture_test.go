package provider_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

// longTimeout is for events that must happen, on the slowest machine.
const longTimeout = time.Minute

// fixture is a server with its changes.
type fixture struct {
	t *testing.T
	*provider.Server
	changes chan struct{}
}

func newFixture(t *testing.T, c config.ToolServer, change ...func(*provider.ServerOptions)) *fixture {
	t.Helper()
	w := &fixture{t: t, changes: make(chan struct{}, 100)}
	if c.Namespace == "" {
		c.Namespace = "space"
	}
	o := provider.ServerOptions{
		Name: "test", Config: c, Env: os.Environ(), Version: "1.2.3", Startup: longTimeout, Grace: 200 * time.Millisecond,
		OnChange: func() { w.changes <- struct{}{} },
	}
	for _, f := range change {
		f(&o)
	}
	w.Server = provider.NewServer(o)
	t.Cleanup(func() { w.Close(context.Background()) })
	return w
}

func testServer(how string, args ...string) config.ToolServer {
	return config.ToolServer{Command: append([]string{os.Args[0], "serve", how}, args...), Protocol: "mcp"}
}

func testJSONRPCServer(how string) config.ToolServer {
	c := testServer(how)
	c.Protocol = "jsonrpc"
	return c
}

func (w *fixture) call(ctx context.Context, name, text string) (tools.Result, error) {
	arguments, _ := json.Marshal(map[string]string{"text": text})
	return w.Run(ctx, tools.Call{Thread: "thread", Namespace: "space", Name: name, Arguments: arguments, Cwd: "/cwd"})
}

// checkText calls a tool that must return a text.
func (w *fixture) checkText(name, text, want string) {
	w.t.Helper()
	w.checkResult(name, text, tools.Result{Content: []tools.Content{{Text: want}}})
}

func (w *fixture) checkResult(name, text string, want tools.Result) {
	w.t.Helper()
	got, err := w.call(w.t.Context(), name, text)
	if err != nil {
		w.t.Errorf("%s: %v", name, err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s: %s", name, diff)
	}
}

// checkError calls a tool that must fail with these words.
func (w *fixture) checkError(name, text string, words ...string) {
	w.t.Helper()
	got, err := w.call(w.t.Context(), name, text)
	if err == nil {
		w.t.Errorf("%s succeeded: %v", name, got)
		return
	}
	contains(w.t, err.Error(), words...)
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in %q", word, text)
		}
	}
}

// waitUntil waits for OnChange until a condition holds.
func (w *fixture) waitUntil(what string, holds func() bool) {
	w.t.Helper()
	late := time.After(longTimeout)
	for !holds() {
		select {
		case <-w.changes:
		case <-late:
			w.t.Fatalf("never %s: %+v", what, w.Status())
		}
	}
}

func (w *fixture) names() string {
	var names []string
	for _, spec := range w.Specs() {
		names = append(names, spec.Name)
	}
	return strings.Join(names, " ")
}

// waitForFile waits until a file has the content.
func waitForFile(t *testing.T, file, want string) {
	t.Helper()
	for late := time.Now().Add(longTimeout); ; time.Sleep(time.Millisecond) {
		if got, _ := os.ReadFile(file); string(got) == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s never had %q", file, want)
		}
	}
}
