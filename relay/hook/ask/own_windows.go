package ask

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// checkPrivate accepts every file: modes mean nothing on Windows, and other users have no
// access to the user's profile.
func checkPrivate(string, fs.FileInfo) error { return nil }

func openOwn(path string) (*os.File, error) { return os.Open(path) }

// IsRefused reports whether no process listens at the address.
func IsRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

func isTemporary(err error) bool { return errors.Is(err, fs.ErrNotExist) || IsRefused(err) }
