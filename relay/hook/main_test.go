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

	"codex-bridge/relay/hook"
)

// The test's own program is the hook's process, and the bridge that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "hook":
			if os.Getenv(earlyOnly) != "" {
				syscall.Exit(lateStatus)
			}
			syscall.Exit(hook.Run(os.Args[2:], os.Stdin, os.Stdout, os.Stderr)) // os.Exit waits a second under the race detector
		case "bridge":
			syscall.Exit(bridge(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

// A process with earlyOnly in its environment ends with lateStatus when it comes as far
// as main.
const (
	earlyOnly  = "HOOK_TEST_EARLY_ONLY"
	lateStatus = 77
)

// bridge is a bridge that says where it listens and when it is asked, and never answers.
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

// plenty is the time of a process that is to get its answer, on the slowest machine.
const plenty = time.Minute

// folder is one with a short path: those of t.TempDir do not fit the name of a socket
// everywhere.
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

// payload is what Codex says of a call.
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

// outcome is what Codex sees of a process.
type outcome struct {
	stdout, stderr string
	status         int
}

// start starts the process of a hook.
func start(t testing.TB, stdin io.Reader, args ...string) (wait func() outcome) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"hook"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() outcome {
		_ = cmd.Wait() // the status says it
		return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
}

// ask runs the process of a hook for a call.
func ask(t testing.TB, socket string, e hook.Event, timeout time.Duration, more ...string) outcome {
	t.Helper()
	args := append([]string{"--socket", socket, "--event", string(e), "--timeout", timeout.String()}, more...)
	return start(t, strings.NewReader(payload(e, "call-1")), args...)()
}

// askAll is ask for each event, all at once.
func askAll(t testing.TB, socket string, timeout time.Duration, more ...string) map[hook.Event]outcome {
	t.Helper()
	waits := map[hook.Event]func() outcome{}
	for _, e := range hook.Events {
		args := append([]string{"--socket", socket, "--event", string(e), "--timeout", timeout.String()}, more...)
		waits[e] = start(t, strings.NewReader(payload(e, "call-1")), args...)
	}
	all := map[hook.Event]outcome{}
	for e, wait := range waits {
		all[e] = wait()
	}
	return all
}

// refused is the reason of a denial as Codex reads it; everything else fails the test.
// An event that only looks on has to be left without a word.
func refused(t testing.TB, e hook.Event, o outcome) (reason string) {
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

// failed is refused, for a process that had no answer: stderr has the reason.
func failed(t testing.TB, e hook.Event, o outcome, words ...string) {
	t.Helper()
	reason := refused(t, e, o)
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
