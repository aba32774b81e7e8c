//go:build unix && (!linux || portable)

package child

import (
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"
)

// The forms are those of ps on macOS, and of procps.
func TestParseProcesses(t *testing.T) {
	got := parseProcesses("    1     0 Fri Nov 27 07:00:01 2026\n  345     1 Fri 27 Nov 07:00:02 2026    \n\nps: a warning\n12 x Fri\n")
	want := map[int]process{1: {0, "Fri Nov 27 07:00:01 2026"}, 345: {1, "Fri 27 Nov 07:00:02 2026"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// A process that is not a child of this one has no descendants, so that none of a stranger are killed.
func TestDescendantsOfAStranger(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 100 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var own strays
	for end := time.Now().Add(30 * time.Second); len(own) != 1 && time.Now().Before(end); {
		own = descendants(cmd.Process.Pid)
	}
	if len(own) != 1 {
		t.Errorf("the shell has descendants %v, want one", own)
	}
	for pid := range own {
		if found := descendants(pid); len(found) > 0 {
			t.Errorf("of a grandchild: %v", found)
		}
	}
	if found := descendants(os.Getppid()); len(found) > 0 {
		t.Errorf("of the parent, with this process among them: %v", found)
	}
	KillTree(cmd.Process.Pid)
	_ = cmd.Wait()
	if found := descendants(cmd.Process.Pid); len(found) > 0 {
		t.Errorf("after Wait: %v", found)
	}
	// A process with the id and another start time is another process.
	other := exec.Command("/bin/sleep", "100")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	strays{other.Process.Pid: "Thu Jan 1 00:00:00 1970"}.kill()
	if processes()[other.Process.Pid].start == "" {
		t.Error("a process with another start time was killed")
	}
	strays{other.Process.Pid: processes()[other.Process.Pid].start}.kill()
	if err := other.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("sleep ended with %v", err)
	}
}
