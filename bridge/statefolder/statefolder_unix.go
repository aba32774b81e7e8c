//go:build unix

package statefolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate returns an error for a file or folder of another user, one that the group or others
// can access, and a file with several hard links: SQLite would keep one write-ahead log per name
// and lose one. It checks root's access too: the user could not open files that root creates.
func checkPrivate(path string, info fs.FileInfo, mode string) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner is unknown", path)
	}
	if uid := os.Geteuid(); int(stat.Uid) != uid {
		return &AccessError{path, fmt.Sprintf("belongs to the user %d, but the bridge runs as %d", stat.Uid, uid), "run codex-bridge as its owner, or " + HintOther}
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return &AccessError{path, fmt.Sprintf("is accessible for other users: its mode is %04o", perm), "chmod " + mode + " " + path}
	}
	if stat.Nlink > 1 && info.Mode().IsRegular() {
		return &AccessError{path, fmt.Sprintf("has %d hard links; changes through another link would be lost", stat.Nlink), "remove the other hard links, or " + HintOther}
	}
	return nil
}

// Sync makes a new entry of a folder survive a loss of power. SQLite syncs its files, but not
// the folder they are in.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
