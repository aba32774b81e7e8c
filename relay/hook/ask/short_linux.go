//go:build !portable && !loopback

package ask

import (
	"os"
	"strconv"
	"syscall"
)

const oPath = 0x200000 // O_PATH, which package syscall does not define

// CheckSocketPath returns nil: processes can connect to a socket at any path.
func CheckSocketPath(string) error { return nil }

// descriptorPath returns a path through an open descriptor of the socket's folder. A second folder
// with a shorter path would be one where sandboxed commands can write, and so put a socket of their
// own.
func descriptorPath(socket string) (path string, release func(), err error) {
	folder := dirOf(socket)
	fd, err := syscall.Open(folder[:len(folder)-1], oPath|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: folder, Err: err}
	}
	path = "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(fd) + "/" + socket[len(folder):]
	return path, func() { _ = syscall.Close(fd) }, nil // the descriptor was only a path
}
