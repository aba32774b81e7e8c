//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openLast opens the file for the last message. It follows no link, and does not wait for the reader of a pipe: a
// command of an earlier run may have put it there, and the message is the model's. Names of the process's own open
// files, such as /dev/stdout, are links, and are allowed.
//
// Measured with Codex 0.169 and 0.171: so does codex exec.
func openLast(path string) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC
	if isOpenFile(path) {
		return os.OpenFile(path, flags, 0o666) //nolint:gosec // as Codex creates it
	}
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
	defer unix.Close(folder)
	fd, err := unix.Openat(folder, names[len(names)-1], flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// isOpenFile reports whether a path is a name of a file that this process has open, such as /dev/stdout.
func isOpenFile(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdout" || path == "/dev/stderr" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// isReplacedFile reports whether the path of an opened file names another one by now.
func isReplacedFile(file *os.File) bool {
	opened, err := file.Stat()
	if err != nil || isOpenFile(file.Name()) {
		return err != nil
	}
	now, err := os.Lstat(file.Name())
	return err != nil || !os.SameFile(opened, now)
}
