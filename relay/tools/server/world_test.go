package server_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/server"
)

// plenty is the time of what is to happen, on the slowest machine.
const plenty = time.Minute

// world is a server and what it told its owner.
type world struct {
	t *testing.T
	*server.Server
	changes chan struct{}
}

func open(t *testing.T, c config.ToolServer, change ...func(*server.Options)) *world {
	t.Helper()
	w := &world{t: t, changes: make(chan struct{}, 100)}
	if c.Namespace == "" {
		c.Namespace = "space"
	}
	o := server.Options{
		Name: "test", Config: c, Env: os.Environ(), Version: "1.2.3", Startup: plenty, Grace: 200 * time.Millisecond,
		OnChange: func() { w.changes <- struct{}{} },
	}
	for _, f := range change {
		f(&o)
	}
	w.Server = server.New(o)
	t.Cleanup(func() { w.Close(context.Background()) })
	return w
}

func own(how string, args ...string) config.ToolServer {
	return config.ToolServer{Command: append([]string{os.Args[0], "serve", how}, args...), Protocol: "mcp"}
}

func ownJSONRPC(how string) config.ToolServer {
	c := own(how)
	c.Protocol = "jsonrpc"
	return c
}

func (w *world) call(ctx context.Context, name, text string) (tools.Result, error) {
	arguments, _ := json.Marshal(map[string]string{"text": text})
	return w.Run(ctx, tools.Call{Thread: "thread", Namespace: "space", Name: name, Arguments: arguments, Cwd: "/cwd"})
}

// says calls a tool that is to succeed with a text.
func (w *world) says(name, text, want string) {
	w.t.Helper()
	w.gives(name, text, tools.Result{Content: []tools.Content{{Text: want}}})
}

func (w *world) gives(name, text string, want tools.Result) {
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

// fails calls a tool that is to end in an error with these words.
func (w *world) fails(name, text string, words ...string) {
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

// until waits for the owner to be told of a state.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	late := time.After(plenty)
	for !holds() {
		select {
		case <-w.changes:
		case <-late:
			w.t.Fatalf("never %s: %+v", what, w.Status())
		}
	}
}

func (w *world) names() string {
	var names []string
	for _, spec := range w.Specs() {
		names = append(names, spec.Name)
	}
	return strings.Join(names, " ")
}

// written waits for a file to have a content.
func written(t *testing.T, file, want string) {
	t.Helper()
	for late := time.Now().Add(plenty); ; time.Sleep(time.Millisecond) {
		if got, _ := os.ReadFile(file); string(got) == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s never had %q", file, want)
		}
	}
}
