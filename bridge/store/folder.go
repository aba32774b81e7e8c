package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
)

// EnvFolder names the state folder.
const EnvFolder = "CODEX_BRIDGE_STATE"

// AccessError is a file or folder that others could read, replace or redirect.
type AccessError struct{ Path, Problem, Mend string }

func (e *AccessError) Error() string { return e.Path + " " + e.Problem + "; " + e.Mend }

// Folder is the state folder: the one that CODEX_BRIDGE_STATE names, else
// "codex-bridge" in the platform's folder for state. It need not exist.
func Folder() (string, error) {
	folder := os.Getenv(EnvFolder)
	if folder == "" {
		folder = filepath.Join(xdg.StateHome, "codex-bridge")
	}
	if !filepath.IsAbs(folder) {
		return "", fmt.Errorf("the state folder %q is relative, and an editor starts the bridge anywhere; name it in full with %s", folder, EnvFolder)
	}
	return filepath.Clean(folder), nil
}

// PrivateFolder makes a folder, its owner's alone, or sees that the one that is there is.
func PrivateFolder(folder string) error {
	if err := makeFolder(folder); err != nil {
		return err
	}
	return checkFolder(folder)
}

// PrivateFile sees that a file that is there is its owner's alone, and no link.
func PrivateFile(path string) error { return checkFile(path) }

// makeFolder makes the folder, its owner's alone. One that is there is left as
// it is: checkFolder judges it.
func makeFolder(folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return fmt.Errorf("%w; name a folder that can be written with %s", err, EnvFolder)
	}
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; name a folder that can be written with %s", err, EnvFolder)
	}
	return syncFolder(filepath.Dir(folder))
}

// checkFolder refuses a state folder that is not its owner's alone.
func checkFolder(path string) error { return check(path, fs.ModeDir, "folder", "700") }

// checkFile does the same for a file in it.
func checkFile(path string) error { return check(path, 0, "file", "600") }

const elsewhere = "name another state folder with " + EnvFolder

func check(path string, want fs.FileMode, noun, mode string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch got := info.Mode().Type(); {
	case got == fs.ModeSymlink:
		return &AccessError{path, "is a symbolic link, which can be turned elsewhere", "put the " + noun + " itself there, or " + elsewhere}
	case got != want:
		return &AccessError{path, "is no " + noun, "move it away, or " + elsewhere}
	}
	return private(path, info, mode)
}
