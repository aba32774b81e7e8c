package hook

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// shortened reaches the socket through its folder, held open. A second folder with a
// shorter path would have to lie where Codex's sandbox lets commands write, and with
// that put a bridge of their own.
func shortened(socket string, do func(string) error) error {
	folder, name := filepath.Split(socket)
	fd, err := unix.Open(filepath.Clean(folder), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	defer unix.Close(fd) //nolint:errcheck // it was only a name
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", fd, name))
}
