//go:build !portable && (amd64 || arm64)

package supervise

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procRoot is the inode of the uppermost folder of /proc.
const procRoot = 1

// readLink returns the text of a symbolic link of a folder, or a descriptor of the file behind it if that is a link of
// /proc without a text: of a process to its folders, its program and its open files. Otherwise they are empty, and -1.
func (v view) readLink(folder, link int, name string) (text string, behind int, err error) {
	var info unix.Stat_t
	if err := unix.Fstat(link, &info); err != nil || info.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", -1, err
	}
	if isOfProc(link) {
		if err := unix.Fstat(folder, &info); err != nil {
			return "", -1, err
		}
		switch {
		case info.Ino != procRoot || !isOfProc(folder):
			fd, err := unix.Openat(folder, name, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", -1, err
			}
			return "", fd, nil
		case name == "self", name == "thread-self":
			text, err := v.selfIn(folder, name == "thread-self")
			return text, -1, err
		}
	}
	buffer := make([]byte, maxPath)
	n, err := unix.Readlinkat(link, "", buffer)
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buffer[:max(n, 0)]), -1, err
}

// isOfProc reports whether a file belongs to a /proc.
func isOfProc(fd int) bool {
	var system unix.Statfs_t
	return unix.Fstatfs(fd, &system) == nil && system.Type == unix.PROC_SUPER_MAGIC
}

// errUnknownProc is the failure of a name that leads through a /proc in which the process can't be found.
var errUnknownProc = errors.New("its /proc is not known")

// selfIn returns what the process reads as self or thread-self in a /proc, which may be that of any namespace of
// processes in which the process is.
func (v view) selfIn(proc int, ofThread bool) (string, error) {
	thread, err := strconv.Atoi(strings.TrimPrefix(string(v), "/proc/"))
	if err != nil {
		return "", errUnknownProc
	}
	process := viewOf(uint32(processOf(thread)))
	numbers, err := numbersOf(string(process) + "/status")
	if err != nil {
		return "", errUnknownProc
	}
	innermost, err := os.Readlink(string(process) + "/ns/pid")
	if err != nil {
		return "", errUnknownProc
	}
	for level, number := range numbers {
		// A process with the same number in the same innermost namespace is the same.
		if namespace, err := readProcLink(proc, number+"/ns/pid"); err != nil || namespace != innermost {
			continue
		}
		if others, err := numbersIn(proc, number+"/status"); err != nil || !slices.Equal(others, numbers[level:]) {
			continue
		}
		if !ofThread {
			return number, nil
		}
		if threads, err := numbersOf(string(v) + "/status"); err == nil && len(threads) == len(numbers) {
			return number + "/task/" + threads[level], nil
		}
	}
	return "", errUnknownProc
}

// inProc makes the kernel stay in one mount of /proc.
const inProc = unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH

// readProcLink returns the text of a link in a /proc.
func readProcLink(proc int, name string) (string, error) {
	fd, err := unix.Openat2(proc, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: inProc | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return "", err
	}
	defer closeFile(fd)
	buffer := make([]byte, maxPath)
	n, err := unix.Readlinkat(fd, "", buffer)
	return string(buffer[:max(n, 0)]), err
}

// numbersIn is numbersOf for a file in a /proc.
func numbersIn(proc int, name string) ([]string, error) {
	fd, err := unix.Openat2(proc, name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: inProc | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, err
	}
	defer closeFile(fd)
	return numbersOf("/proc/self/fd/" + strconv.Itoa(fd))
}

// numbersOf returns the numbers of a process in its namespaces of processes, the innermost last, by its status file.
func numbersOf(status string) ([]string, error) {
	text, err := os.ReadFile(status)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Fields(line), nil
}
