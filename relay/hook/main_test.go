package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"codex-bridge.example/relay/hook"
)

// TestMain runs the test binary as a hook process, as a bridge that a test kills, or as a server with a token.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "hook":
			if os.Getenv(earlyOnlyVar) != "" {
				syscall.Exit(reachedMainStatus)
			}
			syscall.Exit(hook.Run(os.Args[2:], os.Stdin, os.Stdout, os.Stderr)) // os.Exit waits a second under the race detector
		case "bridge":
			syscall.Exit(bridge(os.Args[2]))
		case "accept":
			syscall.Exit(acceptOne(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

// A process with earlyOnlyVar in its environment exits with reachedMainStatus when it
// reaches main.
const (
	earlyOnlyVar      = "HOOK_TEST_EARLY_ONLY"
	reachedMainStatus = 77
)

// bridge runs a server that prints its socket, prints "asked" for each request, and never
// answers.
func bridge(folder string) int {
	s, err := hook.Listen(hook.Options{Folder: folder, Decide: func(ctx context.Context, _ *hook.Call) hook.Answer {
		fmt.Println("asked")
		<-ctx.Done()
		return hook.Answer{}
	}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(s.Socket())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = s.Close()
	return 0
}

// longTimeout is for a process that gets its answer, on the slowest machine.
const longTimeout = time.Minute

// folder returns a folder with a short path: the name of a socket in t.TempDir would be too
// long on some systems.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hk")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

func listen(t testing.TB, o hook.Options) *hook.Server {
	t.Helper()
	if o.Folder == "" {
		o.Folder = folder(t)
	}
	if o.Decide == nil {
		o.Decide = func(context.Context, *hook.Call) hook.Answer { return hook.Answer{} }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := hook.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// payload returns Codex's input for a call.
func payload(e hook.Event, id string) string {
	text, err := json.Marshal(map[string]any{
		"hook_event_name": e.Name(), "session_id": "s", "turn_id": "t", "cwd": "/w", "transcript_path": nil,
		"tool_name": "Bash", "tool_use_id": id, "tool_input": map[string]any{"command": "make"},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// outcome is the result of a hook process as Codex sees it.
type awaitAnswer struct {
	stdout, stderr string
	status         int
}

// start starts a hook process.
func start(t testing.TB, stdin io.Reader, args ...string) (wait func() awaitAnswer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"hook"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() awaitAnswer {
		_ = cmd.Wait()
		return awaitAnswer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
}

// ask runs a hook process for one call.
func ask(t testing.TB, socket string, e hook.Event, timeout time.Duration, more ...string) awaitAnswer {
	t.Helper()
	args := append([]string{"--socket", socket, "--event", string(e), "--timeout", timeout.String()}, more...)
	return start(t, strings.NewReader(payload(e, "call-1")), args...)()
}

// askAll runs a hook process for each event at the same time.
func askAll(t testing.TB, socket string, timeout time.Duration, more ...string) map[hook.Event]awaitAnswer {
	t.Helper()
	waits := map[hook.Event]func() awaitAnswer{}
	for _, e := range hook.Events() {
		args := append([]string{"--socket", socket, "--event", string(e), "--timeout", timeout.String()}, more...)
		waits[e] = start(t, strings.NewReader(payload(e, "call-1")), args...)
	}
	all := map[hook.Event]awaitAnswer{}
	for e, wait := range waits {
		all[e] = wait()
	}
	return all
}

// checkDenial returns the reason of a denial in the form that Codex reads. It fails the
// test on any other output. For an event that only observes, the output must be empty.
func checkDenial(t testing.TB, e hook.Event, o awaitAnswer) (reason string) {
	t.Helper()
	want := ""
	switch e {
	case hook.PreToolUse:
		var out struct {
			Specific struct {
				Reason string `json:"permissionDecisionReason"`
			} `json:"hookSpecificOutput"`
		}
		_ = json.Unmarshal([]byte(o.stdout), &out)
		reason = out.Specific.Reason
		want = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":` + quoted(reason) + "}}\n"
	case hook.PermissionRequest:
		var out struct {
			Specific struct {
				Decision struct {
					Message string `json:"message"`
				} `json:"decision"`
			} `json:"hookSpecificOutput"`
		}
		_ = json.Unmarshal([]byte(o.stdout), &out)
		reason = out.Specific.Decision.Message
		want = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":` + quoted(reason) + "}}}\n"
	}
	if o.stdout != want || o.status != 0 || e.Decides() && strings.TrimSpace(reason) == "" {
		t.Errorf("%s: status %d, stdout %q, stderr %q; want a denial where it decides, else nothing", e, o.status, o.stdout, o.stderr)
	}
	return reason
}

// checkFailure is checkDenial for a process without an answer: stderr must have the reason
// too.
func checkFailure(t testing.TB, e hook.Event, o awaitAnswer, words ...string) {
	t.Helper()
	reason := checkDenial(t, e, o)
	for _, word := range words {
		if e.Decides() && !strings.Contains(reason, word) || !strings.Contains(o.stderr, word) {
			t.Errorf("%s: the reason %q, or stderr %q, does not say %q", e, reason, o.stderr, word)
		}
	}
}

func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}
