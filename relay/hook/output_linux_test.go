package hook_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// Codex, which gets no output or a part of it, must not run the tool: the exit status is the denial.
func TestProcessDeniesByStatusIfOutputFails(t *testing.T) {
	s := listen(t, hook.Options{Decide: func(_ context.Context, c *hook.Call) hook.Answer {
		if c.Event == hook.Stop {
			return hook.Answer{Decision: hook.Revise, Reason: "go on"}
		}
		return hook.Answer{Decision: hook.Deny, Reason: "no"}
	}})
	for e, want := range map[hook.Event]int{hook.PreToolUse: 2, hook.PermissionRequest: 2, hook.Stop: 0} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		var stderr bytes.Buffer
		cmd := exec.Command(os.Args[0], "hook", "--socket", s.Socket(), "--event", string(e), "--timeout", longTimeout.String())
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(payload(e, "c")), full, &stderr
		_ = cmd.Run() // the status is checked
		if got := cmd.ProcessState.ExitCode(); got != want || !strings.Contains(stderr.String(), "the answer can't be written") {
			t.Errorf("%s: status %d, want %d; stderr %q", e, got, want, stderr.String())
		}
	}
}
