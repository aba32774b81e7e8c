package ask

import (
	"os"
	"strconv"
	"syscall"
)

const oPath = 0x200000 // O_PATH, which syscall has no name for

// shortened reaches the socket through its folder, held open. A second folder with a
// shorter path would have to lie where Codex's sandbox lets commands write, and with
// that put a bridge of their own.
func shortened(socket string, do func(string) error) error {
	folder := folderOf(socket)
	fd, err := syscall.Open(folder[:len(folder)-1], oPath|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: folder, Err: err}
	}
	defer syscall.Close(fd) //nolint:errcheck // it was only a name
	return do("/proc/self/fd/" + strconv.Itoa(fd) + "/" + socket[len(folder):])
}
