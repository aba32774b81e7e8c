// Package decisionlog keeps the decision log in files of JSON lines, for a program without a database. Each line is an
// entry as package decision writes it, and follows the one before in the chain of hashes.
//
// The files are decisions-NUMBER.jsonl in the state folder, with the number of the first entry. A file that has
// reached 64 MiB is followed by another one; nothing deletes them. Several processes may append: each holds the lock
// of decisions.lock from reading the end of the log to the sync of its line.
package decisionlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/statefolder"
)

const (
	lockName = "decisions.lock"
	pattern  = "decisions-*.jsonl"
	// maxFile is the size from which on the next entry begins a new file.
	maxFile = 64 << 20
	// lockRetry is the pause before a lock that another process holds is tried again.
	lockRetry = 2 * time.Millisecond
)

// Log is a decision log. Its methods may be called concurrently.
type Log struct {
	folder string

	mu      sync.Mutex
	lock    *os.File      // nil: not open yet
	file    *os.File      // the last file; nil: not open yet
	size    int64         // of file, up to head
	head    decision.Head // the last one that was read or written; the log must still have it
	maxFile int64
}

// New returns the log in a state folder. The first entry creates it.
func New(folder string) *Log { return &Log{folder: folder, head: decision.NoHead, maxFile: maxFile} }

// Append adds a decision to the log. When it returns nil, the decision is on disk. After an error the caller must
// refuse the message.
func (l *Log) Append(ctx context.Context, d decision.Record) error {
	e, err := decision.NewEntry(d)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.append(ctx, e); err != nil {
		return fmt.Errorf("the decision can't be written to the log in %s: %w", l.folder, err)
	}
	return nil
}

func (l *Log) append(ctx context.Context, e decision.Entry) error {
	if err := l.open(); err != nil {
		return err
	}
	for {
		locked, err := tryLock(l.lock)
		if err != nil {
			return err
		}
		if locked {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another process holds %s: %w", lockName, context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
	defer func() { _ = unlock(l.lock) }() // closing the file would unlock it, too
	if err := l.seekEnd(); err != nil {
		return err
	}
	e.Seq, e.Previous = l.head.Seq+1, l.head.Hash
	var err error
	if e.Hash, err = e.Sum(); err != nil {
		return err
	}
	line, err := e.Line()
	if err != nil {
		return err
	}
	if l.file == nil || l.size >= l.maxFile {
		if err := l.startFile(e.Seq); err != nil {
			return err
		}
	}
	return l.write(append(line, '\n'), decision.Head{Seq: e.Seq, Hash: e.Hash})
}

// open opens the lock, and creates the state folder.
func (l *Log) open() error {
	if l.lock != nil {
		return nil
	}
	if err := statefolder.Ensure(l.folder); err != nil {
		return err
	}
	f, err := openPrivate(filepath.Join(l.folder, lockName), os.O_RDWR|os.O_CREATE)
	l.lock = f
	return err
}

// openPrivate opens a file of the state folder. It refuses one that others can access.
func openPrivate(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := statefolder.CheckFile(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// seekEnd finds the end of the log. The end is known if no other process has written since.
func (l *Log) seekEnd() error {
	names, err := Files(l.folder)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		l.closeFile()
		return l.setHead(decision.NoHead)
	}
	last := names[len(names)-1]
	if l.file == nil || l.file.Name() != last {
		l.closeFile()
		if l.file, err = openPrivate(last, os.O_RDWR); err != nil {
			l.file = nil
			return err
		}
		l.size = -1
	}
	opened, err := l.file.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(last); err != nil || !os.SameFile(opened, now) {
		l.closeFile()
		return fmt.Errorf("%s was replaced while the bridge had it open", last)
	}
	if opened.Size() == l.size {
		return nil
	}
	return l.readEnd(names, opened.Size())
}

// readEnd reads the head of a log whose last file has this size. It cuts off an entry that a process was killed in.
func (l *Log) readEnd(names []string, size int64) error {
	line, end, err := lastLine(l.file, size)
	if err != nil {
		return err
	}
	if end != size {
		if err := l.file.Truncate(end); err != nil {
			return err
		}
	}
	l.size = -1                     // until the head is known
	if end == 0 && len(names) > 1 { // a process was killed in the first entry of a file
		before, err := os.Open(names[len(names)-2])
		if err != nil {
			return err
		}
		defer func() { _ = before.Close() }()
		info, err := before.Stat()
		if err == nil {
			line, _, err = lastLine(before, info.Size())
		}
		if err != nil {
			return err
		}
	}
	head := decision.NoHead
	if len(line) > 0 {
		e, err := decision.ReadEntry(line)
		if err != nil {
			return fmt.Errorf("the last entry of %s can't be read: %w", l.file.Name(), err)
		}
		head = decision.Head{Seq: e.Seq, Hash: e.Hash}
	}
	if err := l.setHead(head); err != nil {
		return err
	}
	l.size = end
	return nil
}

// setHead takes the head that the files have. It returns an error if they lack entries that this process has seen.
func (l *Log) setHead(head decision.Head) error {
	if head.Seq < l.head.Seq || head.Seq == l.head.Seq && head.Hash != l.head.Hash {
		return fmt.Errorf("it ends with entry %d, but had entry %s: entries were deleted or replaced", head.Seq, l.head)
	}
	l.head = head
	return nil
}

// lastLine returns the last whole line of a file without its end, and the offset behind it.
func lastLine(f io.ReaderAt, size int64) (line []byte, end int64, err error) {
	for length := int64(64 << 10); ; length *= 4 {
		start := max(0, size-length)
		text := make([]byte, size-start)
		if _, err := f.ReadAt(text, start); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		last := bytes.LastIndexByte(text, '\n')
		first := bytes.LastIndexByte(text[:max(last, 0)], '\n')
		switch {
		case first >= 0:
			return text[first+1 : last], start + int64(last) + 1, nil
		case start == 0 && last < 0:
			return nil, 0, nil
		case start == 0:
			return text[:last], int64(last) + 1, nil
		}
	}
}

// startFile creates the file whose first entry has a number.
func (l *Log) startFile(seq int64) error {
	l.closeFile()
	f, err := openPrivate(filepath.Join(l.folder, fmt.Sprintf("decisions-%012d.jsonl", seq)), os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	l.file, l.size = f, 0
	return statefolder.Sync(l.folder)
}

// write appends a line, which makes head the head of the log.
func (l *Log) write(line []byte, head decision.Head) error {
	_, err := l.file.WriteAt(line, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		err = errors.Join(err, l.file.Truncate(l.size))
		l.size = -1 // what is on disk is not known
		return err
	}
	l.size += int64(len(line))
	l.head = head
	return nil
}

func (l *Log) closeFile() {
	if l.file != nil {
		_ = l.file.Close() // each entry is synced
		l.file = nil
	}
}

// Close closes the files.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFile()
	if l.lock == nil {
		return nil
	}
	err := l.lock.Close()
	l.lock = nil
	return err
}

// Files returns the paths of the files of a log, in the order of their entries.
func Files(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range entries {
		if ok, _ := filepath.Match(pattern, one.Name()); ok { // the pattern is valid
			names = append(names, filepath.Join(folder, one.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}
