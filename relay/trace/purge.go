package trace

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Purge takes away the files of a folder whose last event was written before a time, and
// tells which they were. A link stays, and what it leads to.
func Purge(folder string, before time.Time) ([]File, error) {
	all, err := List(folder)
	if err != nil {
		return nil, err
	}
	var gone []File
	var failed []error
	for _, f := range all {
		if !f.Modified.Before(before) {
			continue
		}
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
			continue
		}
		gone = append(gone, f)
	}
	return gone, errors.Join(failed...)
}
