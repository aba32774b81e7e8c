//go:build unix

package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private refuses what is another user's, or lets others in. Root is no exception.
func private(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to other users: its mode is %04o", path, info.Mode().Perm())
	}
	return nil
}

// openOwn opens a file for reading; a link is not followed, a fifo not waited for.
func openOwn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// again tells whether trying again can help: the server starts, or has much to do.
func again(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || refused(err) || errors.Is(err, syscall.EAGAIN)
}
