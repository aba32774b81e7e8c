package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
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
		t.Errorf("an existing name: %v", err)
	}
	if _, err := store.NewJournal(folder, "acp", "../one"); err == nil {
		t.Error("NewJournal accepted a path outside the folder")
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	var access *statefolder.AccessError
	if _, err := store.NewJournal(folder, "link", "x"); !errors.As(err, &access) {
		t.Errorf("in a linked folder: %v", err)
	}
}

// PurgeJournals deletes old files and does not touch links and their targets.
func TestPurgeJournals(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	now := time.Now()
	for name, age := range map[string]time.Duration{"old.jsonl": 3 * time.Hour, "new.jsonl": time.Minute} {
		f, err := store.NewJournal(folder, "acp", name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Close(), os.Chtimes(f.Name(), now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.WriteFile(outside, nil, 0o600), os.Chtimes(outside, now.Add(-9*time.Hour), now.Add(-9*time.Hour)),
		os.Symlink(outside, filepath.Join(folder, "acp", "link"))); err != nil {
		t.Fatal(err)
	}
	if n, err := store.PurgeJournals(folder, "acp", now.Add(-time.Hour)); n != 1 || err != nil {
		t.Errorf("deleted %d, %v; want 1", n, err)
	}
	var left []string
	entries, err := os.ReadDir(filepath.Join(folder, "acp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, []string{"link", "new.jsonl"}) {
		t.Errorf("files left: %q", left)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	if n, err := store.PurgeJournals(folder, "none", now); n != 0 || err != nil {
		t.Errorf("without a folder: %d, %v", n, err)
	}

	// PurgeJournals does not follow a linked folder.
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(folder, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	var access *statefolder.AccessError
	if n, err := store.PurgeJournals(folder, "elsewhere", now.Add(-time.Hour)); n != 0 || !errors.As(err, &access) {
		t.Errorf("in a linked folder: deleted %d, %v", n, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
