package trace

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Purge deletes the files of a folder whose last event was written before a time, and returns them.
// It leaves symbolic links and their targets.
func Purge(folder string, before time.Time) ([]File, error) {
	all, err := List(folder)
	if err != nil {
		return nil, err
	}
	var purged []File
	var failed []error
	for _, f := range all {
		if !f.Modified.Before(before) {
			continue
		}
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
			continue
		}
		purged = append(purged, f)
	}
	return purged, errors.Join(failed...)
}
