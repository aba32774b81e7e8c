package scripted_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/internal/scripted"
)

// The folder of a process that was killed is removed with the next one, and no other folder.
func TestMarkedFolder(t *testing.T) {
	prefix := "codex-bridge-marked-" + strconv.Itoa(os.Getpid()) + "-"
	first, err := scripted.MarkedFolder(prefix)
	if err != nil {
		t.Fatal(err)
	}
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	gone, err := store.CurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	gone.PID, gone.Started = ended.Process.Pid, "then"
	parent := filepath.Dir(first)
	left, other, unmarked := filepath.Join(parent, prefix+gone.Mark()+"-1"), filepath.Join(parent, "other-"+prefix+gone.Mark()+"-1"), filepath.Join(parent, prefix+"1")
	for _, folder := range []string{left, other, unmarked, first} {
		if err := os.MkdirAll(filepath.Join(folder, "0", "project"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(folder) })
	}
	second, err := scripted.MarkedFolder(prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(second) })
	for folder, want := range map[string]bool{first: true, second: true, other: true, unmarked: true, left: false} {
		if _, err := os.Stat(folder); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", folder, err == nil, want)
		}
	}
}
