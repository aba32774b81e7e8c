package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"codex-bridge.example/bridge/statefolder"
)

// NewJournal creates a file in the folder kind under the state folder. Only its owner can access
// it. An existing file is an error.
func NewJournal(folder, kind, name string) (*os.File, error) {
	for _, path := range []string{folder, filepath.Join(folder, kind)} {
		if err := statefolder.Make(path); err != nil {
			return nil, err
		}
		if err := statefolder.Check(path); err != nil {
			return nil, err
		}
	}
	if name != filepath.Base(name) {
		return nil, fmt.Errorf("%q is not a file name", name)
	}
	return os.OpenFile(filepath.Join(folder, kind, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}

// PurgeJournals deletes the journals of a kind that were last changed before a time, and returns
// their number. It does not follow or delete links.
func PurgeJournals(folder, kind string, before time.Time) (int, error) {
	err := statefolder.Check(filepath.Join(folder, kind))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(filepath.Join(folder, kind))
	if err != nil {
		return 0, err
	}
	n := 0
	var failed []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue // or the file is gone
		}
		if err := os.Remove(filepath.Join(folder, kind, entry.Name())); err != nil {
			failed = append(failed, err)
			continue
		}
		n++
	}
	return n, errors.Join(failed...)
}
