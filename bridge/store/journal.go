package store

import (
	"fmt"
	"os"
	"path/filepath"
)

// NewJournal makes a file of lines in a folder of that kind under the state folder, its
// owner's alone. One that is there already is an error.
func NewJournal(folder, kind, name string) (*os.File, error) {
	for _, path := range []string{folder, filepath.Join(folder, kind)} {
		if err := makeFolder(path); err != nil {
			return nil, err
		}
		if err := checkFolder(path); err != nil {
			return nil, err
		}
	}
	if name != filepath.Base(name) {
		return nil, fmt.Errorf("%q is no name of a file", name)
	}
	return os.OpenFile(filepath.Join(folder, kind, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}
