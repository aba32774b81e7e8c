//go:build !portable

package store

import "golang.org/x/sys/unix"

func renameExclusively(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}
