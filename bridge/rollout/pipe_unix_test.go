//go:build unix

package rollout_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"codex-bridge.example/bridge/rollout"
)

// FindCall does not block on a pipe without a writer.
func TestFindCallDoesNotBlockOnPipe(t *testing.T) {
	home, path := write(t, "")
	pipe := filepath.Join(filepath.Dir(path), "pipe.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := rollout.FindCall(home, pipe, "turn_1", "call_1"); got.Escalation != unknown {
		t.Errorf("got %d", got.Escalation)
	}
}
