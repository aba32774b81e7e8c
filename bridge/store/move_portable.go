//go:build linux && portable

package store

import "golang.org/x/sys/unix"

// renameExclusively fails as on a file system without such renames.
func renameExclusively(string, string) error { return unix.ENOTSUP }
