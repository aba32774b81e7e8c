//go:build !portable

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames a file and fails if the new name exists.
func renameNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP): // ZFS before 2.2, some FUSE file systems
		return renameByLink(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
