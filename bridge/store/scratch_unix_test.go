//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
)

// Commands can write a state folder in a temporary folder, by each of its names.
func TestNoScratchInTemporaryFolders(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(temp, link); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{temp, filepath.Join(temp, "missing", "state"), filepath.Join(link, "missing")} {
		t.Setenv(statefolder.Env, state)
		if folder, _, err := store.MakeScratch(); err == nil || !strings.Contains(err.Error(), "is in the temporary folder") || !strings.Contains(err.Error(), statefolder.Env) {
			t.Errorf("%s: %s, %v", state, folder, err)
		}
	}
	if entries, err := os.ReadDir(temp); err != nil || len(entries) > 0 {
		t.Errorf("created were %v: %v", entries, err)
	}
}

// A link in place of the folder could lead to where commands can write.
func TestScratchFolderMustNotBeALink(t *testing.T) {
	state := t.TempDir()
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(state, store.ScratchFolder)); err != nil {
		t.Fatal(err)
	}
	if folder, _, err := store.MakeScratchIn(state); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("%s, %v", folder, err)
	}
}
