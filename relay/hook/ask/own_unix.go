//go:build unix

package ask

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// checkPrivate returns an error if another user owns the file or may use it, even if the
// user is root.
func checkPrivate(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch mode := uint64(info.Mode().Perm()); {
	case !ok || int(stat.Uid) != os.Geteuid():
		return errors.New(path + " belongs to another user")
	case mode&0o077 != 0:
		return errors.New(path + " is open to other users: its mode is 0" + strconv.FormatUint(mode, 8))
	}
	return nil
}

// openOwn opens a file for reading. It does not follow a link, nor wait for the writer of a
// fifo.
func openOwn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// IsRefused reports whether no process listens at the socket.
func IsRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// isTemporary reports whether another try may succeed: the server is starting, or its queue
// is full.
func isTemporary(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || IsRefused(err) || errors.Is(err, syscall.EAGAIN)
}
