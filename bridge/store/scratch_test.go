package store_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
)

// A folder of makeScratch is empty, private and in the state folder.
func TestScratchIsInTheStateFolder(t *testing.T) {
	state := filepath.Join(t.TempDir(), "new", "state")
	folder, remove, err := store.MakeScratchIn(state)
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(state, store.ScratchFolder))
	if err != nil || filepath.Dir(folder) != real {
		t.Errorf("the folder is %s, want one in %s: %v", folder, real, err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v: %v", entries, err)
	}
	if err := statefolder.Ensure(folder); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if names := namesIn(t, real); len(names) > 0 {
		t.Errorf("left are %v", names)
	}
}

// The folders of processes that have ended are removed, at most 64 at once, and nothing else.
func TestScratchOfEndedProcesses(t *testing.T) {
	state := t.TempDir()
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
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
	parent := filepath.Join(state, store.ScratchFolder)
	mkdir := func(name string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(parent, name, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	kept := []string{mkdir(here.Mark() + "-1"), mkdir(foreign.Mark() + "-1"), mkdir("123"), mkdir("0.."), mkdir("other-" + gone.Mark() + "-1")}
	mkdir(gone.Mark() + "-1")
	for range 66 {
		if _, err := os.MkdirTemp(parent, reused.Mark()+"-"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{3, 0} {
		folder, _, err := store.MakeScratchIn(state)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, filepath.Base(folder))
		if names := namesIn(t, parent); len(names) != len(kept)+left {
			t.Errorf("%d folders of ended processes are left, want %d", len(names)-len(kept), left)
		}
	}
	slices.Sort(kept)
	if names := namesIn(t, parent); !slices.Equal(names, kept) {
		t.Errorf("the folders are\n%q, want\n%q", names, kept)
	}
}

// SQLite would keep the data of a large sort in a file in $TMPDIR.
func TestSQLiteHasNoTemporaryFiles(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Folder: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, db := range map[string]*sql.DB{"read": s.ReadDB(), "write": s.DB()} {
		var where int
		if err := db.QueryRowContext(t.Context(), "PRAGMA temp_store").Scan(&where); err != nil || where != 2 {
			t.Errorf("%s: temp_store is %d, want 2, memory: %v", name, where, err)
		}
	}
}

func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
