//go:build unix

package headless

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// openNamed opens or creates a file without following a link on the way.
func openNamed(path string) (*os.File, error) {
	start := "." // the folder itself, also if $PWD leads there by a link
	if filepath.IsAbs(path) {
		start = "/"
	}
	folder, err := unix.Open(start, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for _, name := range names[:len(names)-1] {
		inner, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		_ = unix.Close(folder)
		if err != nil {
			return nil, err
		}
		folder = inner
	}
	defer func() { _ = unix.Close(folder) }()
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := unix.Openat(folder, names[len(names)-1], flags, 0o666)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// descriptorOf returns the number in a path that names an open file of this process, such as /dev/stdout.
func descriptorOf(path string) (number int, ok bool) {
	switch path {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if name, ok := strings.CutPrefix(path, folder); ok {
			n, err := strconv.ParseUint(name, 10, 31)
			return int(n), err == nil
		}
	}
	return 0, false
}

// inherited returns a file that the caller has opened for this process to write.
func inherited(number int, path string) (*os.File, error) {
	fd := uintptr(number)
	flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
	if err != nil {
		return nil, err
	}
	if flags&unix.FD_CLOEXEC != 0 { // Go opens its own so
		return nil, errors.New("output descriptor is not inherited")
	}
	if mode, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, errors.New("output descriptor is not writable")
	}
	same, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(same), path), nil
}

// hasOtherNames reports whether a regular file has hard links.
func hasOtherNames(file *os.File) (bool, error) {
	var found unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &found); err != nil {
		return false, err
	}
	return found.Mode&unix.S_IFMT == unix.S_IFREG && found.Nlink > 1, nil
}
