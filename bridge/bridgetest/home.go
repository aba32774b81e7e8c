package bridgetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/statefolder"
)

// NewHome returns a function for paths in a new folder, which is the home folder and has the state.
func NewHome(t *testing.T, files ...string) (at func(name string) string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at = func(name string) string { return filepath.Join(root, name) }
	for _, name := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", root)
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", at("tmp"))
	t.Setenv(statefolder.Env, at("state"))
	return at
}
