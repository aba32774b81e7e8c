//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames a file and fails if the new name exists. Some file systems can't do that: ZFS before 2.2,
// some of FUSE, and on macOS all but APFS and HFS+.
func renameNoReplace(from, to string) error {
	err := renameExclusively(from, to)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EOPNOTSUPP):
		return renameByLink(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
