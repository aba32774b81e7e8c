package trace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

func TestPurge(t *testing.T) {
	folder := filepath.Join(t.TempDir(), trace.FolderName)
	if gone, err := trace.Purge(folder, time.Now()); gone != nil || err != nil {
		t.Errorf("without a folder: %v %v", gone, err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for path, at := range map[string]time.Time{
		filepath.Join(folder, "old.jsonl"): old, filepath.Join(folder, "new.jsonl"): old.Add(48 * time.Hour),
		filepath.Join(folder, "old.txt"): old, elsewhere: old,
	} {
		if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(folder, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	gone, err := trace.Purge(folder, old.Add(24*time.Hour))
	if err != nil || len(gone) != 1 || gone[0].Name != "old" || gone[0].Bytes != 3 {
		t.Errorf("%v %v", gone, err)
	}
	var left []string
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"link.jsonl", "new.jsonl", "old.txt"}, left); diff != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, diff)
	}
}

// A Recorder purges old files when it starts.
func TestKeep(t *testing.T) {
	folder := filepath.Join(t.TempDir(), trace.FolderName)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "old.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keep time.Duration
		left bool
	}{{0, true}, {48 * time.Hour, true}, {time.Hour, false}} {
		trace.NewRecorder(trace.Options{Folder: folder, Keep: c.keep, Now: func() time.Time { return at.Add(24 * time.Hour) }}).Close()
		if _, err := os.Lstat(path); os.IsNotExist(err) == c.left {
			t.Errorf("kept for %v: %v", c.keep, err)
		}
	}
}
