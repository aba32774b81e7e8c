package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// moveNew renames a file, and replaces none.
func moveNew(from, to string) error {
	err := unix.RenamexNp(from, to, unix.RENAME_EXCL)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP): // what is no APFS and no HFS+
		return linked(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
