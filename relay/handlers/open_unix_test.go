//go:build unix

package handlers

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe in a file's place does not block until it has a writer.
func TestOpenDoesNotWaitForAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
