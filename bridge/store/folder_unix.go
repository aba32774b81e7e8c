//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private refuses what belongs to another user, lets the group or others in, or has a second
// name: SQLite would keep a write-ahead log for each, and lose what is in one of them.
// Root is no exception: what it would write into a user's folder, the user could
// not open afterwards.
func private(path string, info fs.FileInfo, mode string) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the system does not say who owns it", path)
	}
	if uid := os.Geteuid(); int(stat.Uid) != uid {
		return &AccessError{path, fmt.Sprintf("belongs to the user %d, and this is %d", stat.Uid, uid), "run as its owner, or " + elsewhere}
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return &AccessError{path, fmt.Sprintf("lets others in: its mode is %04o", perm), "chmod " + mode + " " + path}
	}
	if stat.Nlink > 1 && info.Mode().IsRegular() {
		return &AccessError{path, fmt.Sprintf("has %d names: it is written under one, and changed or lost under another", stat.Nlink), "remove the other hard links, or " + elsewhere}
	}
	return nil
}

// syncFolder keeps a new entry of a folder from going with the power. SQLite does
// this for the files that it makes, not for the folder they are in.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
