//go:build unix

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// managedFile returns the path of the machine's file.
func managedFile() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/codex-bridge/config.toml"
	}
	return "/etc/codex-bridge/config.toml"
}

// homeVariable names the home folder.
const homeVariable = "HOME"

func defaultConfigHome() (string, error) {
	home, err := Home()
	if err != nil {
		return "", err
	}
	return configFolderIn(home), nil
}

// configFolderIn returns the folder for configuration in a home folder.
func configFolderIn(home string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".config")
}

func defaultStateHome() (string, error) {
	home, err := Home()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), nil
	}
	return filepath.Join(home, ".local", "state"), nil
}

// belongsToOther reports whether a folder exists and belongs to another user than the process's.
func belongsToOther(folder string) bool {
	info, err := os.Stat(folder)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Geteuid()
}

// checkOwner refuses a file that another user, except root, could write. Its group may: on many
// systems each user has an own group.
func checkOwner(info fs.FileInfo) *Error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return newError(fmt.Sprintf("is not trusted: it belongs to the user %d, and you are %d", stat.Uid, os.Geteuid()),
			"change its owner with chown, or write a copy")
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return newError(fmt.Sprintf("is not trusted: all users can write it (mode %04o)", mode), "run chmod o-w on it")
	}
	return nil
}

// openFile opens a file for reading. Unlike os.Open, it does not wait for the writer of a named pipe.
func openFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.EAGAIN) { // another process has a lease on the file, which the system now ends
		return os.Open(name)
	}
	return f, err
}
