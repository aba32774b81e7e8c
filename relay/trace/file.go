package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"codex-bridge/bridge/store"
)

// room is kept for the line that says that a file is full.
const room = 640

// file is a thread's file. It is opened with the first line, and is not written to beyond
// its bound.
type file struct {
	path   string
	most   int64
	f      *os.File
	size   int64
	closed bool // nothing is written any more
}

var errFull = errors.New("the file is full")

// write adds a line with one write.
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
	most := f.most - room
	if last {
		most = f.most
	}
	if f.size+int64(len(line))+1 > most {
		return errFull
	}
	n, err := f.f.Write(append(line, '\n'))
	f.size += int64(n)
	return err
}

// open opens a file that is its owner's alone. One that is not there is made with O_EXCL,
// and one that is there is compared once it is open: a symbolic link is never followed to
// something that is then written.
func (f *file) open() error {
	if err := store.PrivateFolder(filepath.Dir(f.path)); err != nil {
		return err
	}
	made, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.f = made
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := store.PrivateFile(f.path); err != nil {
		return err
	}
	there, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	opened, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err == nil && !os.SameFile(there, info) {
		err = fmt.Errorf("%s was replaced while it was opened; see who else writes there", f.path)
	}
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	f.f, f.size = opened, info.Size()
	return f.mend()
}

// mend ends a line that was cut by a crash, so that the next is one of its own.
func (f *file) mend() error {
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

// close ends the file. It is opened again when there is more.
func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}
