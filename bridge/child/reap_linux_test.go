//go:build !portable

package child_test

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/child"
)

// The reaper of orphans does not reap a child that was started in another way.
func TestOtherChildrenAreNotReaped(t *testing.T) {
	t.Run("in the same group", func(t *testing.T) { waitForOthers(t, nil) })
	// As on a terminal of its own.
	t.Run("in a session of its own", func(t *testing.T) { waitForOthers(t, &syscall.SysProcAttr{Setsid: true}) })
}

func waitForOthers(t *testing.T, attributes *syscall.SysProcAttr) {
	t.Helper()
	for range 20 {
		other := exec.Command("true")
		other.SysProcAttr = attributes
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

// A child that is killed with all others is left to its Wait, which tells how it ended.
func TestKilledDescendantsAreLeftToTheirWait(t *testing.T) {
	cmd := exec.Command("sh", "-c", "setsid sleep 600 & sleep 600")
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	for len(child.Descendants(cmd.Process.Pid)) < 2 {
		time.Sleep(time.Millisecond)
	}
	strays := child.Descendants(cmd.Process.Pid)
	child.KillDescendants(0)
	var killed *exec.ExitError
	if err := child.Wait(cmd); !errors.As(err, &killed) || killed.String() != "signal: killed" {
		t.Errorf("the child ended with: %v", err)
	}
	for _, pid := range strays {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("the descendant %d is left: %v", pid, err)
		}
	}
}

// A sandbox that was to die with its parent, and waits for it for ever, is killed with its descendants. Another orphan,
// such as a server that the user's command has started, runs on.
func TestOrphanedSandboxesAreKilled(t *testing.T) {
	sandboxes := make([]int, 2)
	for i, option := range []string{"--die-with-parent", "--keep"} {
		done, err := child.Run(t.Context(), child.Command{MaxStdout: 100, Args: []string{"sh", "-c", `setsid sh -c 'sleep 600; :' bwrap "$0" / >/dev/null 2>&1 & echo $!`, option}})
		if err != nil {
			t.Fatal(err)
		}
		if sandboxes[i], err = strconv.Atoi(strings.TrimSpace(string(done.Stdout))); err != nil {
			t.Fatal(err)
		}
		for len(child.Descendants(sandboxes[i])) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	child.EndSandboxes(50 * time.Millisecond)
	if left := syscall.Kill(sandboxes[0], 0); !errors.Is(left, syscall.ESRCH) {
		t.Errorf("the sandbox is left: %v", left)
	}
	if err := syscall.Kill(sandboxes[1], syscall.SIGKILL); err != nil {
		t.Errorf("the other orphan: %v", err)
	}
	child.KillDescendants(0)
}
