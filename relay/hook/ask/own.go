package ask

import (
	"errors"
	"io/fs"
	"os"
)

// CheckOwner returns an error unless path is of the given kind, is not a link, belongs to
// the user and is closed to others.
func CheckOwner(path string, kind fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return CheckOwnerInfo(path, info, kind)
}

// CheckOwnerInfo is [CheckOwner] with known file information.
func CheckOwnerInfo(path string, info fs.FileInfo, kind fs.FileMode) error {
	switch got := info.Mode().Type(); {
	case got == fs.ModeSymlink:
		return errors.New(path + " is a symbolic link, not a " + kindName(kind))
	case got != kind:
		return errors.New(path + " is not a " + kindName(kind))
	}
	return checkPrivate(path, info)
}

func kindName(kind fs.FileMode) string {
	switch kind {
	case fs.ModeDir:
		return "folder"
	case fs.ModeSocket:
		return "socket"
	}
	return "file"
}
