//go:build !portable

package child_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"codex-bridge.example/bridge/child"
)

// withoutOrphans is set in the environment of a test process that does not adopt orphans.
const withoutOrphans = "CODEX_BRIDGE_TEST_WITHOUT_ORPHANS"

// A process that gets no orphans leaves its other children to whoever has started them. The test runs in a
// process of its own, since this one adopts orphans.
func TestOtherChildrenAreLeftAlone(t *testing.T) {
	if os.Getenv(withoutOrphans) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOtherChildrenAreLeftAlone$")
		cmd.Env = append(os.Environ(), withoutOrphans+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
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
