package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/server"
)

var _ tools.Provider = (*server.Server)(nil)

const known = "all big die echo fail files_read hang hush learn sample structured where"

func TestMCP(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := open(t, own("noisy"), func(o *server.Options) {
		o.Dir, o.Env = dir, []string{"A=b", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
		o.Searchable = true
	})
	if got := w.Status(); got != (server.Status{Name: "test", State: server.Idle}) {
		t.Errorf("%+v", got)
	}
	if got := w.names(); got != known {
		t.Errorf("%s", got)
	}
	spec := w.Specs()[3]
	contains(t, string(spec.InputSchema), `"text"`, `"object"`)
	spec.InputSchema = nil
	want := tools.Spec{Namespace: "space", Name: "echo", Description: "does echo", Searchable: true, Origin: "tool_servers.test"}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
	if got := w.Status(); got != (server.Status{Name: "test", State: server.Ready, Tools: 12}) {
		t.Errorf("%+v", got)
	}
	if w.Timeout("echo") != 0 {
		t.Error("a timeout")
	}
	w.says("echo", "hi", "hi")
	w.says("files_read", "", "read")
	w.says("structured", "", `{"a":1}`)
	w.says("sample", "", "true true")
	w.gives("fail", "sorry", tools.Result{Failed: true, Content: []tools.Content{{Text: "sorry"}}})
	w.gives("all", "", tools.Result{Content: []tools.Content{
		{Text: "a text"},
		{Image: "data:image/png;base64,cG5n"},
		{Text: "[audio, audio/wav, 4 bytes: not shown]"},
		{Text: "[link to the resource file:///a, a, text/plain, 9 bytes] The first."},
		{Text: "[resource file:///b, text/plain]\ninside"},
		{Image: "data:image/gif;base64,Z2lm"},
		{Text: "[resource file:///d, application/octet-stream, 4 bytes: not shown]"},
	}})
	w.fails("nothing", "", `tool server "test": it refuses: `, "nothing", "(code -32602)")
	r, err := w.call(t.Context(), "where", "")
	if err != nil {
		t.Fatal(err)
	}
	got, env, _ := strings.Cut(r.Content[0].Text, "\n")
	if got != dir {
		t.Errorf("runs in %s", got)
	}
	for _, pair := range strings.Split(env, "\n") {
		if name, _, _ := strings.Cut(pair, "="); name != "A" && name != "SYSTEMROOT" && name != "CODEX_BRIDGE_CHILD" {
			t.Errorf("has %s", pair)
		}
	}
}

func TestMuch(t *testing.T) {
	w := open(t, own("mcp"))
	r, err := w.call(t.Context(), "big", "")
	if err != nil || len(r.Content) != 1 || len(r.Content[0].Text) != 32<<20 {
		t.Error(len(r.Content), err)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { w.says("echo", fmt.Sprint(i), fmt.Sprint(i)) })
	}
	all.Wait()
}

// A server that says its tools are others is asked for them, and the owner is told.
func TestChanged(t *testing.T) {
	for name, w := range map[string]*world{"mcp": open(t, own("mcp")), "jsonrpc": open(t, ownJSONRPC("jsonrpc"))} {
		t.Run(name, func(t *testing.T) {
			before := w.names()
			if _, err := w.call(t.Context(), "learn", "zzz"); err != nil {
				t.Fatal(err)
			}
			w.until("offered", func() bool { return w.names() == before+" zzz" })
		})
	}
}

// A call that is given up is given up by the server, too, and the server lives on.
func TestCancel(t *testing.T) {
	for name, w := range map[string]*world{"mcp": open(t, own("mcp")), "jsonrpc": open(t, ownJSONRPC("jsonrpc")), "web": open(t, web(t))} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := w.call(ctx, "hang", file)
				done <- err
			}()
			written(t, file, "running")
			enough := errors.New("enough")
			cancel(enough)
			if err := <-done; !errors.Is(err, enough) {
				t.Error(err)
			}
			written(t, file, "cancelled")
			if _, err := w.call(t.Context(), "echo", "x"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that dies fails the calls that are under way, with what it said last; the next
// call finds it again.
func TestDies(t *testing.T) {
	for name, w := range map[string]*world{"mcp": open(t, own("mcp")), "jsonrpc": open(t, ownJSONRPC("jsonrpc"))} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			done := make(chan error, 1)
			go func() {
				_, err := w.call(t.Context(), "hang", file)
				done <- err
			}()
			written(t, file, "running")
			w.fails("die", "out of luck", `tool server "test": it has ended, exit status 3; its last words: out of luck`)
			if err := <-done; err == nil {
				t.Error("the other call succeeded")
			} else {
				contains(t, err.Error(), "exit status 3", "out of luck")
			}
			if _, err := w.call(t.Context(), "echo", "x"); err != nil {
				t.Error(err)
			}
			if got := w.Status(); got.State != server.Ready || got.Restarts != 1 || got.Error != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// One that can't answer any more is ended.
func TestClosesStdout(t *testing.T) {
	w := open(t, own("mcp"))
	w.fails("hush", "", "it closed its stdout")
	w.says("echo", "again", "again")
}

// One that was there and is not to be had again is an error after one more try.
func TestDoesNotComeBack(t *testing.T) {
	w := open(t, own("once", filepath.Join(t.TempDir(), "file")))
	w.fails("die", "first", "first")
	w.fails("echo", "x", "exit status 5", "there is one already")
	if got := w.names(); got != known { // it is still being tried
		t.Error(got)
	}
}

func TestNeverThere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		how   string
		words []string
	}{
		{"ends", "broken", []string{"it has ended, exit status 4; its last words: no such configuration"}},
		{"does not answer", "silent", []string{"no answer within $LIMIT", `no messages: 1, the last of them "thinking"`}},
		{"does not read", "deaf", []string{"no answer within $LIMIT"}},
		{"has no end", "endless", []string{"a message of more than 67108864 bytes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range []config.ToolServer{own(tt.how), ownJSONRPC(tt.how)} {
				// Where the machine is busy, the server may not come to its message within the limit.
				limit := 200 * time.Millisecond
				for ; !failsToStart(t, c, limit, tt.words); limit *= 4 {
					if limit > time.Minute {
						t.Fatal("it never gets that far")
					}
				}
			}
		})
	}
	w := open(t, own(""))
	w.fails("x", "", "it has ended, exit status 0")
}

// failsToStart reports whether both the status and a call say why a server has not started, with all of words;
// a server that does not answer gets limit for it. The test fails if the server has tools.
func failsToStart(t *testing.T, c config.ToolServer, limit time.Duration, words []string) bool {
	t.Helper()
	w := open(t, c, func(o *server.Options) {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "$LIMIT") }) {
			o.Handshake = limit
		}
	})
	if got := w.Specs(); got != nil {
		t.Error(got)
	}
	said := w.Status().Error
	_, err := w.call(t.Context(), "echo", "x")
	if err == nil {
		t.Fatal("the call succeeded")
	}
	for _, word := range words {
		word = strings.ReplaceAll(word, "$LIMIT", limit.String())
		if !strings.Contains(said, word) || !strings.Contains(err.Error(), word) {
			t.Logf("no %q in %q, or in %q", word, said, err)
			return false
		}
	}
	return true
}

// A server that is no program is an error that says so.
func TestNoProgram(t *testing.T) {
	c := own("mcp")
	c.Command[0] = filepath.Join(t.TempDir(), "nothing")
	w := open(t, c)
	w.fails("echo", "x", "it can't be started", "nothing")
}

// Servers exist that end at anything before initialize.
func TestOlderMCP(t *testing.T) {
	w := open(t, own("strict"))
	want := []tools.Spec{
		{Name: "a", Description: "a", InputSchema: []byte(`{"type":"object"}`)},
		{Name: "b.c", Description: "B", InputSchema: []byte(`{"type":"object"}`)}, // not b_c, which is another tool
		{Name: "b_c", Description: "b_c", InputSchema: []byte(`{"type":"object"}`)},
		{Name: "d_d", Description: "d d", InputSchema: []byte(`{"type":"object"}`)},
	}
	for i := range want {
		want[i].Namespace, want[i].Origin = "space", "tool_servers.test"
	}
	if diff := cmp.Diff(want, w.Specs()); diff != "" {
		t.Error(diff)
	}
	w.fails("a", "", "not today") // by a code that the SDK has for a connection that is lost
}

// What a server leaves unread is bounded, and does not hold up who calls.
func TestUnread(t *testing.T) {
	w := open(t, own("full"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := w.call(ctx, "a", "x"); err == nil {
		t.Error("it was answered")
	}
	if len(w.Specs()) == 0 {
		t.Fatal(w.Status())
	}
	much := strings.Repeat("x", 40<<20)
	done := make(chan error, 1)
	for range 2 {
		go func() {
			_, err := w.call(t.Context(), "a", much)
			done <- err
		}()
	}
	for range 2 {
		contains(t, (<-done).Error(), "it leaves more than 67108864 bytes unread")
	}
}

func TestJSONRPC(t *testing.T) {
	w := open(t, ownJSONRPC("jsonrpc"))
	if got := w.names(); got != "echo items other odd refuse die hang learn" {
		t.Error(got)
	}
	w.says("echo", "hi", "hi thread /cwd")
	w.says("other", "", `{"a":[1,2]}`)
	w.gives("items", "", tools.Result{Failed: true, Content: []tools.Content{
		{Text: "t"}, {Image: "data:image/png;base64,AA=="}, {Text: `[content of the unknown type "x": not shown]`},
	}})
	w.fails("odd", "", "its answer can't be read")
	w.fails("refuse", "", "it refuses: not refuse (code -7)")
}

// Close ends the calls, too, and a child that is deaf to all politeness.
func TestClose(t *testing.T) {
	w := open(t, own("mcp"))
	file := filepath.Join(t.TempDir(), "file")
	done := make(chan error, 1)
	go func() {
		_, err := w.call(t.Context(), "hang", file)
		done <- err
	}()
	written(t, file, "running")
	w.Close(t.Context())
	contains(t, (<-done).Error(), "it is closed")
	w.fails("echo", "x", "it is closed")
	if got := w.Specs(); got != nil {
		t.Error(got)
	}
	w.Close(t.Context())

	idle := open(t, own("mcp"))
	idle.Close(t.Context())
	idle.fails("echo", "x", "it is closed")

	deaf := open(t, own("deaf"), func(o *server.Options) { o.Grace = time.Hour })
	deaf.Start()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	deaf.Close(ctx)
}
