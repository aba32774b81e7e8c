package child_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/child"
)

// A missing folder is not reported as a missing program.
func TestMissingFolderIsNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	isNamed := func(err error) bool { // the system call differs
		return err != nil && strings.Contains(err.Error(), "its folder: ") && strings.Contains(err.Error(), missing)
	}
	if _, err := child.Open([]string{os.Args[0]}, missing, os.Environ(), os.Stderr); !isNamed(err) {
		t.Errorf("Open: %v", err)
	}
	if _, err := child.Run(t.Context(), child.Command{Args: []string{os.Args[0]}, Dir: missing, Env: os.Environ()}); !isNamed(err) {
		t.Errorf("Run: %v", err)
	}
	if _, err := child.Open([]string{missing}, filepath.Dir(missing), os.Environ(), os.Stderr); err == nil || strings.Contains(err.Error(), "folder") {
		t.Errorf("a missing program: %v", err)
	}
}
