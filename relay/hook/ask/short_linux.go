package ask

import (
	"os"
	"strconv"
	"syscall"
)

const oPath = 0x200000 // O_PATH, which package syscall does not define

// withDescriptorPath calls do with a path through an open descriptor of the socket's
// folder. A second folder with a shorter path would be one where sandboxed commands can
// write, and so put a socket of their own.
func withDescriptorPath(socket string, do func(string) error) error {
	folder := dirOf(socket)
	fd, err := syscall.Open(folder[:len(folder)-1], oPath|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: folder, Err: err}
	}
	defer syscall.Close(fd) //nolint:errcheck // the descriptor was only a path
	return do("/proc/self/fd/" + strconv.Itoa(fd) + "/" + socket[len(folder):])
}
