package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"codex-bridge.example/bridge/config"
)

// EnvFolder is the environment variable with the state folder.
const EnvFolder = "CODEX_BRIDGE_STATE"

// AccessError means that other users could read, replace or redirect a file or folder.
type AccessError struct{ Path, Problem, Hint string }

func (e *AccessError) Error() string { return e.Path + " " + e.Problem + "; " + e.Hint }

// FolderError means that the state folder is not known.
type FolderError struct{ Problem string }

func (e *FolderError) Error() string {
	return fmt.Sprintf("the state folder %s; set %s to an absolute path", e.Problem, EnvFolder)
}

// Folder returns the state folder: CODEX_BRIDGE_STATE, or "codex-bridge" in the platform's folder
// for state. It need not exist. An error is a *FolderError.
func Folder() (string, error) {
	folder := os.Getenv(EnvFolder)
	if folder == "" {
		home, err := config.StateHome()
		if err != nil {
			return "", &FolderError{"can't be found: " + err.Error()}
		}
		folder = filepath.Join(home, "codex-bridge")
	}
	if !filepath.IsAbs(folder) {
		return "", &FolderError{fmt.Sprintf("%q is relative, but an editor can start the bridge in any folder", folder)}
	}
	return filepath.Clean(folder), nil
}

// EnsurePrivateFolder creates a folder that only its owner can read, or checks an existing one.
func EnsurePrivateFolder(folder string) error {
	if err := makeFolder(folder); err != nil {
		return err
	}
	return checkFolder(folder)
}

// CheckPrivateFile checks that a file is accessible for its owner only, and is no link.
func CheckPrivateFile(path string) error { return checkFile(path) }

// makeFolder creates the folder with mode 700. It does not change an existing folder; see
// checkFolder.
func makeFolder(folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return fmt.Errorf("%w; set %s to a writable folder", err, EnvFolder)
	}
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; set %s to a writable folder", err, EnvFolder)
	}
	return syncFolder(filepath.Dir(folder))
}

// checkFolder returns an error for a state folder that others can access.
func checkFolder(path string) error { return checkPath(path, fs.ModeDir, "folder", "700") }

// checkFile returns an error for a file in the state folder that others can access.
func checkFile(path string) error { return checkPath(path, 0, "file", "600") }

const hintOtherFolder = "name another state folder with " + EnvFolder

func checkPath(path string, want fs.FileMode, noun, mode string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch got := info.Mode().Type(); {
	case got == fs.ModeSymlink:
		return &AccessError{path, "is a symbolic link, and others may redirect it", "replace it with a " + noun + ", or " + hintOtherFolder}
	case got != want:
		return &AccessError{path, "is not a " + noun, "move it away, or " + hintOtherFolder}
	}
	return checkPrivate(path, info, mode)
}
