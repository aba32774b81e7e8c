//go:build unix

package ask

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// private refuses what is another user's, or lets others in. Root is no exception.
func private(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch mode := uint64(info.Mode().Perm()); {
	case !ok || int(stat.Uid) != os.Geteuid():
		return errors.New(path + " belongs to another user")
	case mode&0o077 != 0:
		return errors.New(path + " is open to other users: its mode is 0" + strconv.FormatUint(mode, 8))
	}
	return nil
}

// openOwn opens a file for reading; a link is not followed, a fifo not waited for.
func openOwn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// Refused tells whether nobody listens.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// again tells whether trying again can help: the server starts, or has much to do.
func again(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || Refused(err) || errors.Is(err, syscall.EAGAIN)
}
