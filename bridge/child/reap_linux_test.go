//go:build !portable

package child_test

import (
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/child"
)

// The reaper of orphans does not reap a child that was started in another way.
func TestOtherChildrenAreNotReaped(t *testing.T) {
	for range 20 {
		other := exec.Command("true")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := child.Run(t.Context(), child.Command{Args: []string{"sleep", "0.02"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if err := other.Wait(); err != nil {
			t.Fatalf("another child: %v", err)
		}
	}
}

// A child in a session of its own, as one on a terminal, looks like an orphan. The caller that waits for it gets its status.
func TestWaitedChildrenInOtherSessionsAreNotReaped(t *testing.T) {
	if _, err := child.Run(t.Context(), child.Command{Args: []string{"true"}}); err != nil { // the reaper runs
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				other := exec.Command("true")
				other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				if err := other.Run(); err != nil {
					t.Errorf("another child: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
}
