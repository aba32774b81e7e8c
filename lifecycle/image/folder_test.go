package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/store"
)

// A job removes the empty folders of bridges that have ended, and nothing else.
func TestFoldersOfEndedBridges(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp) // of Windows
	here, err := store.CurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	gone, reused, foreign := here, here, here
	gone.PID, gone.Started, reused.Started, foreign.PID, foreign.Host = ended.Process.Pid, "then", "then", ended.Process.Pid, "elsewhere"
	mkdir := func(name string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(temp, name), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	mkdir(folderPrefix + gone.Mark() + "-1")
	mkdir(folderPrefix + reused.Mark() + "-1")
	kept := []string{
		mkdir(folderPrefix + here.Mark() + "-1"), mkdir(folderPrefix + foreign.Mark() + "-1"), mkdir(folderPrefix + "123"),
		mkdir(folderPrefix + "0.."), mkdir("other-" + gone.Mark() + "-1"), mkdir(folderPrefix + gone.Mark() + "-full"),
		folderPrefix + gone.Mark() + "-link",
	}
	mkdir(filepath.Join(folderPrefix+gone.Mark()+"-full", "file"))
	if err := os.Symlink(kept[2], filepath.Join(temp, folderPrefix+gone.Mark()+"-link")); err != nil {
		t.Fatal(err)
	}
	own, err := makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	kept = append(kept, filepath.Base(own))
	slices.Sort(kept)
	entries, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, kept) {
		t.Errorf("the folders are\n%q, want\n%q", names, kept)
	}
}

// Only so many folders are removed at once.
func TestFewFoldersAreRemovedAtOnce(t *testing.T) {
	temp := t.TempDir()
	here, err := store.CurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	reused := here
	reused.Started = "then"
	for range maxRemoved + 3 {
		if _, err := os.MkdirTemp(temp, folderPrefix+reused.Mark()+"-"); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{3, 0} {
		removeLeft(temp, here)
		if entries, err := os.ReadDir(temp); err != nil || len(entries) != want {
			t.Errorf("%d folders are left, want %d: %v", len(entries), want, err)
		}
	}
}
