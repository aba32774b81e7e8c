package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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
	"codex-bridge/relay/tools/command"
)

// commands is a provider with the one tool x.
func commands(args ...string) *command.Commands {
	return command.New(command.Options{Tools: map[string]config.Tool{"x": {Command: append([]string{os.Args[0], "tool"}, args...)}}})
}

func run(t *testing.T, ctx context.Context, args ...string) (string, tools.Result, error) { //nolint:revive // t goes first
	t.Helper()
	r, err := commands(args...).Run(ctx, tools.Call{Name: "x", Arguments: json.RawMessage(`{"a":1}`), Cwd: t.TempDir()})
	var all strings.Builder
	for _, c := range r.Content {
		all.WriteString(c.Text)
	}
	return all.String(), r, err
}

func TestSpecs(t *testing.T) {
	c := command.New(command.Options{
		Tools: map[string]config.Tool{
			"b": {Description: "B", InputSchema: map[string]any{"type": "object"}, Command: []string{"b"}, Timeout: config.Duration(time.Minute)},
			"a": {Description: "A", InputSchema: map[string]any{"type": "object", "required": []any{"x"}}, Command: []string{"a"}, Loading: config.Searchable},
		},
		Place: func(key string) string { return map[string]string{"tools.b": "user /config.toml:3"}[key] },
	})
	want := []tools.Spec{
		{Namespace: "host", Name: "a", Description: "A", InputSchema: json.RawMessage(`{"required":["x"],"type":"object"}`), Searchable: true, Origin: "tools.a"},
		{Name: "b", Description: "B", InputSchema: json.RawMessage(`{"type":"object"}`), Origin: "tools.b (user /config.toml:3)"},
	}
	if diff := cmp.Diff(want, c.Specs()); diff != "" {
		t.Error(diff)
	}
	if c.Timeout("b") != time.Minute || c.Timeout("a") != 0 || c.Timeout("z") != 0 {
		t.Error("timeouts")
	}
	if o := tools.NewCatalogue(c).Refresh(); len(o.Omitted) > 0 {
		t.Error(o.Omitted)
	}
	if _, err := c.Run(t.Context(), tools.Call{Name: "z"}); err == nil || !strings.Contains(err.Error(), "no longer configured") {
		t.Error(err)
	}
}

// A tool gets its arguments, the thread's folder, and of the environment what it needs.
func TestWhatAToolGets(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	t.Setenv("CODEX_HOME", "/c")
	t.Setenv("CODEX_BRIDGE_STATE", "/s")
	t.Setenv("LC_TIME", "C")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := commands("echo").Run(t.Context(), tools.Call{Name: "x", Arguments: json.RawMessage(`{"a":"é"}`), Cwd: dir})
	if err != nil || len(r.Content) != 1 {
		t.Fatal(r, err)
	}
	parts := strings.Split(r.Content[0].Text, "|")
	if parts[0] != "{\"a\":\"é\"}\n" || parts[1] != dir {
		t.Errorf("%q", parts)
	}
	names := strings.Fields(parts[2])
	for _, name := range []string{"PATH", "LC_TIME"} {
		if !slices.Contains(names, name) {
			t.Errorf("no %s in %q", name, names)
		}
	}
	for _, name := range names {
		if strings.Contains(name, "KEY") || strings.HasPrefix(name, "CODEX_") && name != "CODEX_BRIDGE_CHILD" {
			t.Errorf("%s in the environment", name)
		}
	}
	if _, err := commands("echo").Run(t.Context(), tools.Call{Name: "x", Cwd: filepath.Join(dir, "gone")}); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Error(err)
	}
	if _, err := commands("echo").Run(t.Context(), tools.Call{Name: "x", Cwd: "."}); err == nil {
		t.Error("a relative folder")
	}
}

func TestWhatAToolSays(t *testing.T) {
	const object = `{"contentItems":[{"type":"inputText","text":"half"}]}`
	for _, test := range []struct {
		name   string
		args   []string
		want   string
		failed bool
		fault  string
	}{
		{name: "a text", args: []string{"say", "hello\n"}, want: "hello\n"},
		{name: "nothing", args: []string{"say", ""}},
		{name: "an object", args: []string{"say", object}, want: "half"},
		{name: "an object that can't be read", args: []string{"say", `{"contentItems":5}`}, fault: "they are no list"},
		{name: "an exit status", args: []string{"say", "so far", "3", "what\nwent wrong\n"}, want: "The tool failed: exit status 3; its last words on stderr:\nwhat\nwent wrong\nso far", failed: true},
		{name: "an exit status and nothing", args: []string{"say", "", "1", ""}, want: "The tool failed: exit status 1.\n", failed: true},
		{name: "an exit status and an object", args: []string{"say", object, "1", ""}, want: "The tool failed: exit status 1.\nhalf", failed: true},
		{name: "an exit status and a bad object", args: []string{"say", `{"contentItems":5}`, "1", ""}, want: "The tool failed: exit status 1.\n" + `{"contentItems":5}`, failed: true},
		{name: "words on stderr alone", args: []string{"say", "fine", "0", "chatter"}, want: "fine"},
		{name: "a long stderr", args: []string{"say", "", "1", strings.Repeat("x", 5000) + "end"}, want: "The tool failed: exit status 1; its last words on stderr:\n" + strings.Repeat("x", 4093) + "end\n", failed: true},
		{name: "too much", args: []string{"much"}, fault: "more than 64 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, r, err := run(t, t.Context(), test.args...)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || r.Failed != test.failed {
				t.Errorf("failed %v, %s", r.Failed, diff)
			}
		})
	}
	got, r, err := run(t, t.Context(), "dies")
	if err != nil || !r.Failed || !strings.HasPrefix(got, "The tool failed: ") || !strings.HasSuffix(got, "what is left\nhalf of") {
		t.Errorf("%q, %v", got, err)
	}
	gone := command.New(command.Options{Tools: map[string]config.Tool{"x": {Command: []string{filepath.Join(t.TempDir(), "gone")}}}})
	if _, err := gone.Run(t.Context(), tools.Call{Name: "x"}); err == nil || !strings.HasPrefix(err.Error(), "the tool can't be run: ") {
		t.Error(err)
	}
}

// listener is asked by the tool's children, so that a test knows that they run, and that
// they have ended.
func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func ends(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	conn.Close()
}

// A tool that closes its output has not ended yet.
func TestToolThatClosesItsOutput(t *testing.T) {
	l := listener(t)
	done := make(chan error)
	go func() {
		got, r, err := run(t, t.Context(), "closes", l.Addr().String())
		if got != "" || r.Failed {
			err = fmt.Errorf("%q, %+v, %w", got, r, err)
		}
		done <- err
	}()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatal("answered while it runs", err)
	default:
	}
	conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A tool is answered for when it has ended, though it left one behind that holds its
// output, and that one goes.
func TestToolThatLeavesAChild(t *testing.T) {
	l := listener(t)
	got, r, err := run(t, t.Context(), "leaves", l.Addr().String())
	if err != nil || r.Failed || !strings.Contains(got, "the answer") {
		t.Errorf("%q, %v", got, err)
	}
}

// When the call ends, so does all of the tool, and what it had said comes with it.
func TestToolThatHangs(t *testing.T) {
	for _, how := range []string{"hangs", "hangs with a child"} {
		t.Run(how, func(t *testing.T) {
			l := listener(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			late := errors.New("late")
			done := make(chan error)
			go func() {
				got, _, err := run(t, ctx, how, l.Addr().String())
				// Of what it has said a busy machine may not have read all.
				if all := "\nIts last words on stderr:\nand waits\n\nIt had printed:\nbegun"; !strings.Contains(all, got) {
					t.Errorf("%q", got)
				}
				done <- err
			}()
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			cancel(late)
			if err := <-done; !errors.Is(err, late) {
				t.Error(err)
			}
			ends(t, conn)
		})
	}
}

func TestFiftyAtOnce(t *testing.T) {
	r := tools.NewRunner(tools.NewCatalogue(command.New(command.Options{Tools: map[string]config.Tool{
		"x": {Description: "d", InputSchema: map[string]any{"type": "object"}, Command: []string{os.Args[0], "tool", "echo"}},
	}})), tools.Options{})
	defer r.Close()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			arguments := fmt.Sprintf(`{"i":%d}`, i)
			got := r.Answer(t.Context(), tools.Call{Name: "x", Arguments: json.RawMessage(arguments)})
			if !got.Success || !strings.HasPrefix(got.Items[0].Text, arguments+"\n|") {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
}
