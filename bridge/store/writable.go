package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Writable tells why a state can't be made in a folder, or written where there is one, and leaves
// nothing behind. It must not be called while the state is open: SQLite would lose its locks.
func Writable(folder string) error {
	at, err := folder, error(nil)
	for _, err = os.Stat(at); errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at; _, err = os.Stat(at) {
		at = filepath.Dir(at) // what is missing is made
	}
	if err == nil {
		err = tryFile(at)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		path := filepath.Join(folder, DatabaseFile) + suffix
		if info, there := os.Lstat(path); err == nil && there == nil && info.Mode().IsRegular() {
			err = tryWriting(path)
		}
	}
	if err != nil {
		return fmt.Errorf("%w; let its folder and its files be written, or %s", err, elsewhere)
	}
	return nil
}

func tryFile(folder string) error {
	f, err := os.CreateTemp(folder, ".codex-bridge-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func tryWriting(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
