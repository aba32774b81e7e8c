// Package statefolder finds the folder with the state of the bridge, and creates and checks files and
// folders that only their owner may access.
package statefolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"codex-bridge.example/bridge/config"
)

// Env is the environment variable with the state folder.
const Env = "CODEX_BRIDGE_STATE"

// AccessError means that other users could read, replace or redirect a file or folder.
type AccessError struct{ Path, Problem, Hint string }

func (e *AccessError) Error() string { return e.Path + " " + e.Problem + "; " + e.Hint }

// Error means that the state folder is not known.
type Error struct{ Problem string }

func (e *Error) Error() string {
	return fmt.Sprintf("the state folder %s; set %s to an absolute path", e.Problem, Env)
}

// Path returns the state folder: CODEX_BRIDGE_STATE, or "codex-bridge" in the platform's folder
// for state. It need not exist. An error is a *Error.
func Path() (string, error) {
	folder := os.Getenv(Env)
	if folder == "" {
		home, err := config.StateHome()
		if err != nil {
			return "", &Error{"can't be found: " + err.Error()}
		}
		folder = filepath.Join(home, "codex-bridge")
	}
	if !filepath.IsAbs(folder) {
		return "", &Error{fmt.Sprintf("%q is relative, but an editor can start the bridge in any folder", folder)}
	}
	return filepath.Clean(folder), nil
}

// Ensure creates a folder that only its owner can read, or checks an existing one.
func Ensure(folder string) error {
	if err := Make(folder); err != nil {
		return err
	}
	return Check(folder)
}

// Make creates the folder with mode 700. It does not change an existing folder; see Check.
func Make(folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return fmt.Errorf("%w; set %s to a writable folder", err, Env)
	}
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; set %s to a writable folder", err, Env)
	}
	return Sync(filepath.Dir(folder))
}

// Check returns an error for a state folder that others can access.
func Check(path string) error { return checkPath(path, fs.ModeDir, "folder", "700") }

// CheckFile returns an error for a file in the state folder that others can access.
func CheckFile(path string) error { return checkPath(path, 0, "file", "600") }

// HintOther is the hint of errors about a file that can't be in the state folder.
const HintOther = "name another state folder with " + Env

func checkPath(path string, want fs.FileMode, noun, mode string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch got := info.Mode().Type(); {
	case got == fs.ModeSymlink:
		return &AccessError{path, "is a symbolic link, and others may redirect it", "replace it with a " + noun + ", or " + HintOther}
	case got != want:
		return &AccessError{path, "is not a " + noun, "move it away, or " + HintOther}
	}
	return checkPrivate(path, info, mode)
}
