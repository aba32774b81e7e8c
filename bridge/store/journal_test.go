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

// What is old goes, and a link stays with what it leads to.
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
		t.Errorf("%d are gone, %v", n, err)
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
		t.Errorf("left are %q", left)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	if n, err := store.PurgeJournals(folder, "none", now); n != 0 || err != nil {
		t.Errorf("of no folder: %d, %v", n, err)
	}

	// Nor is a folder purged that a link leads to: what lies there is somebody else's.
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(folder, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	var access *store.AccessError
	if n, err := store.PurgeJournals(folder, "elsewhere", now.Add(-time.Hour)); n != 0 || !errors.As(err, &access) {
		t.Errorf("behind a link: %d are gone, %v", n, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
