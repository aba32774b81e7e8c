//go:build !portable

package child_test

import (
	"os/exec"
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
