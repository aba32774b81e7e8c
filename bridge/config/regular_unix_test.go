//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/bridge/config"
)

// OpenRegular opens files and links to files, and waits for no writer of a pipe.
func TestOpenRegular(t *testing.T) {
	folder := t.TempDir()
	file, link, pipe := filepath.Join(folder, "file"), filepath.Join(folder, "link"), filepath.Join(folder, "pipe")
	for _, err := range []error{os.WriteFile(file, []byte("x"), 0o600), os.Symlink(file, link), syscall.Mkfifo(pipe, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		file: "", link: "", pipe: "open " + pipe + ": it is not a regular file", folder: "open " + folder + ": it is a folder",
		"/dev/null": "open /dev/null: it is not a regular file", filepath.Join(folder, "none"): "no such file",
	} {
		f, err := config.OpenRegular(path)
		if err == nil {
			err = f.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
