package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// readFile reads a regular file of at most maxLen bytes.
func readFile(name string, maxLen int64) ([]byte, error) {
	info, err := os.Stat(name) // to open a named pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAtMost(f, maxLen)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// replaceFile writes a file so that a reader, also after a crash, sees the old content or the new one.
func replaceFile(name string, text []byte, mode fs.FileMode) (err error) {
	folder := filepath.Dir(name)
	f, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes a rename in a folder survive a loss of power.
func syncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil // folders can't be synced there
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
