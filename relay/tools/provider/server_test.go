package provider_test

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

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

var _ tools.Provider = (*provider.Server)(nil)

const known = "all big die echo fail files_read hang hush learn sample structured where"

func TestMCPServer(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, testServer("noisy"), func(o *provider.ServerOptions) {
		o.Dir, o.Env = dir, []string{"A=b", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
		o.Searchable = true
	})
	if got := w.Status(); got != (provider.Status{Name: "test", State: provider.Idle}) {
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
	if got := w.Status(); got != (provider.Status{Name: "test", State: provider.Ready, Tools: 12}) {
		t.Errorf("%+v", got)
	}
	if w.Timeout("echo") != 0 {
		t.Error("a timeout")
	}
	w.checkText("echo", "hi", "hi")
	w.checkText("files_read", "", "read")
	w.checkText("structured", "", `{"a":1}`)
	w.checkText("sample", "", "true true")
	w.checkResult("fail", "sorry", tools.Result{Failed: true, Content: []tools.Content{{Text: "sorry"}}})
	w.checkResult("all", "", tools.Result{Content: []tools.Content{
		{Text: "a text"},
		{Image: "data:image/png;base64,cG5n"},
		{Text: "[audio, audio/wav, 4 bytes: not shown]"},
		{Text: "[link to the resource file:///a, a, text/plain, 9 bytes] The first."},
		{Text: "[resource file:///b, text/plain]\ninside"},
		{Image: "data:image/gif;base64,Z2lm"},
		{Text: "[resource file:///d, application/octet-stream, 4 bytes: not shown]"},
	}})
	w.checkError("nothing", "", `tool server "test": it returned an error: `, "nothing", "(code -32602)")
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

func TestServerWithManyTools(t *testing.T) {
	w := newFixture(t, testServer("mcp"))
	r, err := w.call(t.Context(), "big", "")
	if err != nil || len(r.Content) != 1 || len(r.Content[0].Text) != 32<<20 {
		t.Error(len(r.Content), err)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { w.checkText("echo", fmt.Sprint(i), fmt.Sprint(i)) })
	}
	all.Wait()
}

// When the server reports changed tools, they are listed again, and OnChange is called.
func TestChangedToolsAreListedAgain(t *testing.T) {
	for name, w := range map[string]*fixture{"mcp": newFixture(t, testServer("mcp")), "jsonrpc": newFixture(t, testJSONRPCServer("jsonrpc"))} {
		t.Run(name, func(t *testing.T) {
			before := w.names()
			if _, err := w.call(t.Context(), "learn", "zzz"); err != nil {
				t.Fatal(err)
			}
			w.waitUntil("offered", func() bool { return w.names() == before+" zzz" })
		})
	}
}

// A cancelled call is cancelled at the server, which keeps running.
func TestCancelledCallLeavesServerRunning(t *testing.T) {
	for name, w := range map[string]*fixture{"mcp": newFixture(t, testServer("mcp")), "jsonrpc": newFixture(t, testJSONRPCServer("jsonrpc")), "web": newFixture(t, httpTransport(t))} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := w.call(ctx, "hang", file)
				done <- err
			}()
			waitForFile(t, file, "running")
			enough := errors.New("enough")
			cancel(enough)
			if err := <-done; !errors.Is(err, enough) {
				t.Error(err)
			}
			waitForFile(t, file, "cancelled")
			if _, err := w.call(t.Context(), "echo", "x"); err != nil {
				t.Error(err)
			}
		})
	}
}

// When a server dies, its running calls fail with its stderr. The next call restarts it.
func TestCallFailsWhenServerDies(t *testing.T) {
	for name, w := range map[string]*fixture{"mcp": newFixture(t, testServer("mcp")), "jsonrpc": newFixture(t, testJSONRPCServer("jsonrpc"))} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			done := make(chan error, 1)
			go func() {
				_, err := w.call(t.Context(), "hang", file)
				done <- err
			}()
			waitForFile(t, file, "running")
			w.checkError("die", "out of luck", `tool server "test": it has ended, exit status 3; stderr: out of luck`)
			if err := <-done; err == nil {
				t.Error("the other call succeeded")
			} else {
				contains(t, err.Error(), "exit status 3", "out of luck")
			}
			if _, err := w.call(t.Context(), "echo", "x"); err != nil {
				t.Error(err)
			}
			if got := w.Status(); got.State != provider.Ready || got.Restarts != 1 || got.Error != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A server that closes its stdout is ended.
func TestServerThatClosesStdoutIsEnded(t *testing.T) {
	w := newFixture(t, testServer("mcp"))
	w.checkError("hush", "", "it closed its stdout")
	w.checkText("echo", "again", "again")
}

// If a server that was ready can't be started again, a call fails after one more try.
func TestServerThatCannotRestartIsAnError(t *testing.T) {
	w := newFixture(t, testServer("once", filepath.Join(t.TempDir(), "file")))
	w.checkError("die", "first", "first")
	w.checkError("echo", "x", "exit status 5", "there is one already")
	if got := w.names(); got != known { // it is still being restarted
		t.Error(got)
	}
}

func TestServerThatNeverStarts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		how   string
		words []string
	}{
		{"ends", "broken", []string{"it has ended, exit status 4; stderr: no such configuration"}},
		{"does not answer", "silent", []string{"no answer within $LIMIT", `not messages: 1, the last: "thinking"`}},
		{"does not read", "deaf", []string{"no answer within $LIMIT"}},
		{"has no end", "endless", []string{"a message of more than 67108864 bytes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range []config.ToolServer{testServer(tt.how), testJSONRPCServer(tt.how)} {
				// on a busy machine the server may not print its message in time
				limit := 200 * time.Millisecond
				for ; !failsToStart(t, c, limit, tt.words); limit *= 4 {
					if limit > time.Minute {
						t.Fatal("it never gets that far")
					}
				}
			}
		})
	}
	w := newFixture(t, testServer(""))
	w.checkError("x", "", "it has ended, exit status 0")
}

// failsToStart reports whether both the status and a call say why a server has not started, with
// all of words; a server that does not answer gets limit for it. The test fails if the server has
// tools.
func failsToStart(t *testing.T, c config.ToolServer, limit time.Duration, words []string) bool {
	t.Helper()
	w := newFixture(t, c, func(o *provider.ServerOptions) {
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

func TestMissingProgramIsAnError(t *testing.T) {
	c := testServer("mcp")
	c.Command[0] = filepath.Join(t.TempDir(), "nothing")
	w := newFixture(t, c)
	w.checkError("echo", "x", "it can't be started", "nothing")
}

// Some servers exit on any message before initialize.
func TestServerThatRequiresInitialize(t *testing.T) {
	w := newFixture(t, testServer("strict"))
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
	w.checkError("a", "", "not today") // with a code that the SDK uses for a lost connection
}

// The messages that a server leaves unread are bounded and do not block callers.
func TestUnreadMessagesAreBounded(t *testing.T) {
	w := newFixture(t, testServer("full"))
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

func TestJSONRPCServer(t *testing.T) {
	w := newFixture(t, testJSONRPCServer("jsonrpc"))
	if got := w.names(); got != "echo items other odd refuse die hang learn" {
		t.Error(got)
	}
	w.checkText("echo", "hi", "hi thread /cwd")
	w.checkText("other", "", `{"a":[1,2]}`)
	w.checkResult("items", "", tools.Result{Failed: true, Content: []tools.Content{
		{Text: "t"}, {Image: "data:image/png;base64,AA=="}, {Text: `[12 bytes of a content of the type "x", which is not passed on]`},
	}})
	w.checkError("odd", "", "contentItems is not a list")
	w.checkError("refuse", "", "it returned an error: not refuse (code -7)")
}

// Close ends running calls, and kills a child that ignores its closed stdin.
func TestCloseEndsCallsAndServer(t *testing.T) {
	w := newFixture(t, testServer("mcp"))
	file := filepath.Join(t.TempDir(), "file")
	done := make(chan error, 1)
	go func() {
		_, err := w.call(t.Context(), "hang", file)
		done <- err
	}()
	waitForFile(t, file, "running")
	w.Close(t.Context())
	contains(t, (<-done).Error(), "it is closed")
	w.checkError("echo", "x", "it is closed")
	if got := w.Specs(); got != nil {
		t.Error(got)
	}
	w.Close(t.Context())

	idle := newFixture(t, testServer("mcp"))
	idle.Close(t.Context())
	idle.checkError("echo", "x", "it is closed")

	deaf := newFixture(t, testServer("deaf"), func(o *provider.ServerOptions) { o.Grace = time.Hour })
	deaf.Start()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	deaf.Close(ctx)
}
