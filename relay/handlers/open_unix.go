//go:build unix

package handlers

import (
	"os"
	"syscall"
)

// openFile opens a file for reading. It does not wait if a command of the model has replaced
// the file with a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
