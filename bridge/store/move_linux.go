package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// moveNew renames a file, and replaces none.
func moveNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP): // ZFS before 2.2, some of FUSE
		return linked(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
