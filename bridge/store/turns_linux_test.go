package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/store"
)

// patience is longer than any step takes on a busy machine.
const patience = time.Minute

// holdTurn takes the turn of another process, and returns the function that ends it.
func holdTurn(t *testing.T, folder string) (end func()) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(folder, store.TurnFile), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// writes are the operations that wait for a turn.
var writes = map[string]func(context.Context, *store.Store) error{
	"Append":     func(ctx context.Context, s *store.Store) error { return s.Append(ctx, testDecision()) },
	"AddGrant":   func(ctx context.Context, s *store.Store) error { return s.AddGrant(ctx, testGrant(0, "/a"), 9) },
	"PutBinding": func(ctx context.Context, s *store.Store) error { return s.PutBinding(ctx, testBinding(0, "t")) },
}

// A writer waits while another process has the turn.
func TestWritersWaitForTheirTurn(t *testing.T) {
	store.SetTurnTimeout(t, patience)
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			o := backends[0].fresh(t)
			s := open(t, o)
			end := holdTurn(t, o.Folder)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := write(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("during the turn of another process it returned %v", err)
			}
			done := make(chan error, 1)
			go func() { done <- write(t.Context(), s) }()
			end()
			if err := <-done; err != nil {
				t.Errorf("after the turn it returned %v", err)
			}
		})
	}
}

// A process that hangs in its turn does not stop other processes.
func TestWritersDoNotWaitForHungProcess(t *testing.T) {
	store.SetTurnTimeout(t, time.Millisecond)
	o := backends[0].fresh(t)
	s := open(t, o)
	end := holdTurn(t, o.Folder)
	defer end()
	for range 2 {
		for name, write := range writes {
			if err := write(t.Context(), s); err != nil {
				t.Errorf("%s returned %v", name, err)
			}
		}
	}
}

// The owner can read the file of the turns, to copy the folder, and no other user can. Earlier builds wrote it
// with another mode.
func TestTurnFileCanBeCopied(t *testing.T) {
	o := backends[0].fresh(t)
	open(t, o)
	file := filepath.Join(o.Folder, store.TurnFile)
	for _, mode := range []fs.FileMode{0o200, 0o644} {
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("the file has %v, %v", info, err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		open(t, o)
	}
}

// Close leaves no file open, so SQLite deletes its write-ahead log.
func TestCloseEndsStatements(t *testing.T) {
	o := backends[0].fresh(t)
	s := open(t, o)
	for name, write := range writes {
		if err := write(t.Context(), s); err != nil {
			t.Fatalf("%s returned %v", name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(o.Folder, "*-wal")); err != nil || len(left) > 0 {
		t.Errorf("the folder has %q, %v", left, err)
	}
}
