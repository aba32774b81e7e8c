package provider_test

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

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

// newCommands returns a provider of the tool x.
func newCommands(args ...string) *provider.Commands {
	return provider.NewCommands(provider.CommandOptions{Tools: map[string]config.Tool{"x": {Command: append([]string{os.Args[0], "tool"}, args...)}}})
}

func runCommand(t *testing.T, ctx context.Context, args ...string) (string, tools.Result, error) { //nolint:revive // t goes first
	t.Helper()
	r, err := newCommands(args...).Run(ctx, tools.Call{Name: "x", Arguments: json.RawMessage(`{"a":1}`), Cwd: t.TempDir()})
	var all strings.Builder
	for _, c := range r.Content {
		all.WriteString(c.Text)
	}
	return all.String(), r, err
}

func TestCommandSpecs(t *testing.T) {
	c := provider.NewCommands(provider.CommandOptions{
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

// A command gets its arguments, the thread's folder and a part of the environment.
func TestCommandInput(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	t.Setenv("CODEX_HOME", "/c")
	t.Setenv("CODEX_BRIDGE_STATE", "/s")
	t.Setenv("LC_TIME", "C")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := newCommands("echo").Run(t.Context(), tools.Call{Name: "x", Arguments: json.RawMessage(`{"a":"é"}`), Cwd: dir})
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
	if _, err := newCommands("echo").Run(t.Context(), tools.Call{Name: "x", Cwd: filepath.Join(dir, "gone")}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
	if _, err := newCommands("echo").Run(t.Context(), tools.Call{Name: "x", Cwd: "."}); err == nil {
		t.Error("a relative folder")
	}
}

func TestCommandOutput(t *testing.T) {
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
		{name: "an object that can't be read", args: []string{"say", `{"contentItems":5}`}, fault: "contentItems is not a list"},
		{name: "an exit status", args: []string{"say", "so far", "3", "what\nwent wrong\n"}, want: "The tool failed: exit status 3; stderr:\nwhat\nwent wrong\nso far", failed: true},
		{name: "an exit status and nothing", args: []string{"say", "", "1", ""}, want: "The tool failed: exit status 1.\n", failed: true},
		{name: "an exit status and an object", args: []string{"say", object, "1", ""}, want: "The tool failed: exit status 1.\nhalf", failed: true},
		{name: "an exit status and a bad object", args: []string{"say", `{"contentItems":5}`, "1", ""}, want: "The tool failed: exit status 1.\n" + `{"contentItems":5}`, failed: true},
		{name: "words on stderr alone", args: []string{"say", "fine", "0", "chatter"}, want: "fine"},
		{name: "a long stderr", args: []string{"say", "", "1", strings.Repeat("x", 5000) + "end"}, want: "The tool failed: exit status 1; stderr:\n" + strings.Repeat("x", 4093) + "end\n", failed: true},
		{name: "too much", args: []string{"much"}, fault: "more than 64 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, r, err := runCommand(t, t.Context(), test.args...)
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
	got, r, err := runCommand(t, t.Context(), "dies")
	if err != nil || !r.Failed || !strings.HasPrefix(got, "The tool failed: ") || !strings.HasSuffix(got, "what is left\nhalf of") {
		t.Errorf("%q, %v", got, err)
	}
	gone := provider.NewCommands(provider.CommandOptions{Tools: map[string]config.Tool{"x": {Command: []string{filepath.Join(t.TempDir(), "gone")}}}})
	if _, err := gone.Run(t.Context(), tools.Call{Name: "x"}); err == nil || !strings.HasPrefix(err.Error(), "the tool can't be run: ") {
		t.Error(err)
	}
}

// The tool's processes connect to this listener, so a test sees that they run and end.
func listenForTool(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func waitForEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	conn.Close()
}

// A command that closes its stdout has not ended.
func TestCommandThatClosesStdoutIsStillAwaited(t *testing.T) {
	l := listenForTool(t)
	done := make(chan error)
	go func() {
		got, r, err := runCommand(t, t.Context(), "closes", l.Addr().String())
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

// A command's result does not wait for a process that it left behind, and that process is
// ended.
func TestChildLeftBehindIsEnded(t *testing.T) {
	l := listenForTool(t)
	got, r, err := runCommand(t, t.Context(), "leaves", l.Addr().String())
	if err != nil || r.Failed || !strings.Contains(got, "the answer") {
		t.Errorf("%q, %v", got, err)
	}
}

// When the context ends, all processes of the command end, and the output so far is
// returned.
func TestCommandEndsWithItsContext(t *testing.T) {
	for _, how := range []string{"hangs", "hangs with a child"} {
		t.Run(how, func(t *testing.T) {
			l := listenForTool(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			late := errors.New("late")
			done := make(chan error)
			go func() {
				got, _, err := runCommand(t, ctx, how, l.Addr().String())
				// a busy machine may not have read all output
				if all := "\nstderr:\nand waits\n\nstdout:\nbegun"; !strings.Contains(all, got) {
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
			waitForEnd(t, conn)
		})
	}
}

func TestFiftyConcurrentCommands(t *testing.T) {
	r := tools.NewRunner(tools.NewCatalogue(provider.NewCommands(provider.CommandOptions{Tools: map[string]config.Tool{
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
