package ask

import (
	"errors"
	"io/fs"
	"os"
)

// OwnPath tells whether at a path there is something of a kind, itself and not a link to
// it, that is the user's own and closed to others.
func OwnPath(path string, kind fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return Own(path, info, kind)
}

// Own is OwnPath of what is known of the path.
func Own(path string, info fs.FileInfo, kind fs.FileMode) error {
	switch got := info.Mode().Type(); {
	case got == fs.ModeSymlink:
		return errors.New(path + " is a symbolic link, not a " + noun(kind))
	case got != kind:
		return errors.New(path + " is no " + noun(kind))
	}
	return private(path, info)
}

func noun(kind fs.FileMode) string {
	switch kind {
	case fs.ModeDir:
		return "folder"
	case fs.ModeSocket:
		return "socket"
	}
	return "file"
}
