//go:build !portable && (amd64 || arm64)

package supervise

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestManyStarts starts two thousand programs; a hundred thousand if CODEX_BRIDGE_WIDE is set. Some at the same time,
// and each in a process of its own.
func TestManyStarts(t *testing.T) {
	count := 2000
	if os.Getenv("CODEX_BRIDGE_WIDE") != "" {
		count = 100_000
	}
	line := fmt.Sprintf("for ((i = 0; i < %d; i += 4)); do /bin/true & /bin/true & /bin/true & /bin/true; wait; done", count)
	var decided atomic.Int32
	type usage struct{ goroutines, descriptors, heap, known int }
	var first, last usage
	var s *Supervisor
	now := func() (u usage) {
		entries, _ := os.ReadDir("/proc/self/fd")
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		s.processes.mu.Lock()
		defer s.processes.mu.Unlock()
		return usage{runtime.NumGoroutine(), len(entries), int(m.HeapAlloc), len(s.processes.known)}
	}
	s = New(Options{Required: true, Decide: func(_ context.Context, start Start) bool {
		switch int(decided.Add(1)) {
		case count / 4:
			first = now()
		case count - 3:
			last = now()
		}
		return len(start.Calls) == 1 && start.Programs[0].File != ""
	}})
	s.Announce(call(line))
	cmd := exec.Command("/bin/bash", "-c", `bash -c "$LINE" || exit; exit 7`)
	cmd.Env = append(os.Environ(), "LINE="+line)
	if err := s.Start(cmd, (*exec.Cmd).Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 7 {
		t.Error(err)
	}
	if int(decided.Load()) != count {
		t.Errorf("%d decisions", decided.Load())
	}
	t.Logf("%+v, at the end %+v", first, last)
	if last.goroutines > first.goroutines+20 || last.descriptors > first.descriptors+40 || last.heap > first.heap+4<<20 || last.known > 2*minEntries {
		t.Errorf("%+v, at the end %+v", first, last)
	}
}
