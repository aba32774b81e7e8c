package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"codex-bridge.example/bridge/statefolder"
)

// CheckWritable returns an error if the state in a folder can't be created or written. It leaves no
// file behind. Don't call it while the state is open: SQLite would lose its locks.
func CheckWritable(folder string) error {
	at, err := folder, error(nil)
	for _, err = os.Stat(at); errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at; _, err = os.Stat(at) {
		at = filepath.Dir(at) // Open creates missing folders
	}
	if err == nil {
		err = checkCreate(at)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		path := filepath.Join(folder, DatabaseFile) + suffix
		if info, there := os.Lstat(path); err == nil && there == nil && info.Mode().IsRegular() {
			err = checkOpenForWrite(path)
		}
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w; free some space there, or %s", err, statefolder.HintOther)
	}
	if err != nil {
		return fmt.Errorf("%w; make its folder and files writable, or %s", err, statefolder.HintOther)
	}
	return nil
}

func checkCreate(folder string) error {
	f, err := os.CreateTemp(folder, ".codex-bridge-*")
	if err != nil {
		return err
	}
	// As much as a new database has, so that a full disk is an error here too.
	_, err = f.Write(make([]byte, 256<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func checkOpenForWrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
