package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"codex-bridge.example/bridge/statefolder"
)

// fullLen is reserved for the event FileFull.
const fullLen = 640

// file is the file of a thread. It is opened with the first line, and never exceeds maxSize.
type file struct {
	path    string
	maxSize int64
	f       *os.File // nil if it is not open
	size    int64
	closed  bool // takes no more lines
}

var errFull = errors.New("the file is full")

// write appends a line with one system call. It returns errFull if only the last line has room.
func (f *file) write(line []byte, last bool) error {
	if f.closed {
		return errFull
	}
	if f.f == nil {
		if err := f.open(); err != nil {
			f.closed = true
			return err
		}
	}
	limit := f.maxSize - fullLen
	if last {
		limit = f.maxSize
	}
	if f.size+int64(len(line))+1 > limit {
		return errFull
	}
	n, err := f.f.Write(append(line, '\n'))
	f.size += int64(n)
	return err
}

// open opens or creates a file that only its owner can access. It creates the file with O_EXCL, and
// checks the identity of an existing one after opening, so that it never writes through a symbolic
// link.
func (f *file) open() error {
	if err := statefolder.Ensure(filepath.Dir(f.path)); err != nil {
		return err
	}
	created, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.f = created
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := statefolder.CheckFile(f.path); err != nil {
		return err
	}
	before, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	opened, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = fmt.Errorf("%s was replaced while it was opened; check which other program writes there", f.path)
	}
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	f.f, f.size = opened, info.Size()
	return f.endLastLine()
}

// endLastLine ends a line that a crash has truncated.
func (f *file) endLastLine() error {
	if f.size == 0 {
		return nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	_, err = in.ReadAt(last, f.size-1)
	if err = errors.Join(err, in.Close()); err != nil || last[0] == '\n' {
		return err
	}
	f.size++
	_, err = f.f.Write([]byte{'\n'})
	return err
}

// close closes the file. The next write opens it again.
func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}
