package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"codex-bridge/bridge/store"
)

func TestNewJournal(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	f, err := store.NewJournal(folder, "acp", "one.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for path, mode := range map[string]fs.FileMode{folder: 0o700, filepath.Join(folder, "acp"): 0o700, filepath.Join(folder, "acp", "one.jsonl"): 0o600} {
		info, err := os.Lstat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := store.NewJournal(folder, "acp", "one.jsonl"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one of that name: %v", err)
	}
	if _, err := store.NewJournal(folder, "acp", "../one"); err == nil {
		t.Error("outside of the folder")
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	var access *store.AccessError
	if _, err := store.NewJournal(folder, "link", "x"); !errors.As(err, &access) {
		t.Errorf("behind a link: %v", err)
	}
}
