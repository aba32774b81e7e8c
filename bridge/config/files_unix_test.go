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

// The bridge refuses a managed or user file that all users can write, since it may name programs. A
// workspace file can't.
func TestFileThatAllUsersCanWriteIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		mode os.FileMode
		says string
	}{
		{0o600, ""}, {0o664, ""}, {0o444, ""},
		{0o602, "is not trusted: all users can write it (mode 0602); run chmod o-w on it"}, {0o666, "(mode 0666)"},
	} {
		file := filepath.Join(dir, "config.toml")
		if err := os.WriteFile(file, []byte("[policy]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, row.mode); err != nil {
			t.Fatal(err)
		}
		for layer, opts := range map[string]config.Options{"user": {User: file}, "managed": {Managed: file}} {
			_, err := config.Load(opts)
			if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), row.says)) {
				t.Errorf("%s with %04o: %v, want %q", layer, row.mode, err, row.says)
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	workspace := filepath.Join(dir, config.WorkspaceFile)
	if err := os.WriteFile(workspace, []byte("[policy]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(workspace, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Options{Workspace: dir}); err != nil {
		t.Error(err)
	}
}

// A command in the workspace could replace its file by a named pipe, again and again.
func TestPipeDoesNotHoldUpTheBridge(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, config.WorkspaceFile)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for layer, opts := range map[string]config.Options{"user": {User: pipe}, "workspace": {Workspace: dir}} {
		if _, err := config.Load(opts); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
			t.Errorf("%s: %v", layer, err)
		}
	}
	f, err := config.OpenFile(pipe) // a pipe since the check of its name
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
