package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// openLast opens the file for the last message. It refuses links and junctions on the way: a command of an earlier run
// may have put one there, and the message is the model's.
func openLast(path string) (*os.File, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for at := absolute; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&(os.ModeSymlink|os.ModeIrregular) != 0 {
			return nil, fmt.Errorf("%s is a link", at)
		}
	}
	return os.OpenFile(absolute, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // as Codex creates it
}

// isReplacedFile reports whether the path of an opened file names another one by now.
func isReplacedFile(file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return true
	}
	now, err := os.Lstat(file.Name())
	return err != nil || !os.SameFile(opened, now)
}
