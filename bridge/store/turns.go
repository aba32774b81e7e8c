package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// turnFile is the file whose lock is the turn. The user can read it, so that the folder can be copied.
const turnFile = "writers.lock"

const turnFileMode fs.FileMode = 0o600

// turns lets the writers of all processes that share a SQLite database write in the order of their
// requests. Without it they would poll: SQLite wakes no process that waits for its lock. SQLite
// still excludes other writers, so a process without a turn does no harm. See lockFile.
//
// A nil *turns lets all write at once.
type turns struct {
	free chan struct{} // holds a value while no writer of this process has or awaits a turn
	file *os.File      // turnFile
}

// newTurns returns the turns of the writers of a folder.
func newTurns(folder string) (*turns, error) {
	f, err := os.OpenFile(filepath.Join(folder, turnFile), os.O_CREATE|os.O_WRONLY, turnFileMode)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(turnFileMode); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t := &turns{free: make(chan struct{}, 1), file: f}
	t.free <- struct{}{}
	return t, nil
}

// turnTimeout limits the wait for a turn, since a process may hang in its turn. Tests change it.
var turnTimeout = writeTimeout / 2

// take waits for a turn and returns the function that ends it. After turnTimeout it returns without a
// turn.
func (t *turns) take(ctx context.Context) (end func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	select {
	case <-t.free:
	case <-ctx.Done():
		return func() {}
	}
	if t.lock(tryLock) {
		return t.end
	}
	locked := make(chan struct{})
	go func() {
		t.lock(waitForLock)
		close(locked)
	}()
	select {
	case <-locked:
		return t.end
	case <-ctx.Done():
		go func() {
			<-locked
			t.end()
		}()
		return func() {}
	}
}

func (t *turns) end() {
	t.lock(unlock)
	t.free <- struct{}{}
}

func (t *turns) close() {
	if t != nil {
		_ = t.file.Close() // ends a turn
	}
}

// lock reports whether it has locked or unlocked the file.
func (t *turns) lock(how lockMode) (done bool) {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return false
	}
	return raw.Control(func(fd uintptr) { done = lockFile(fd, how) }) == nil && done
}
