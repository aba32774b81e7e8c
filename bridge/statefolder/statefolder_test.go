//go:build unix

package statefolder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/statefolder"
)

func TestPath(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	t.Setenv("XDG_STATE_HOME", "/var/ada")
	for _, tt := range []struct{ value, want string }{
		{"/srv/state/", "/srv/state"},
		{"", "/var/ada/codex-bridge"},
		{"state", ""},
		{"./state", ""},
	} {
		t.Setenv(statefolder.Env, tt.value)
		got, err := statefolder.Path()
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("with %q: %q, %v; want %q", tt.value, got, err, tt.want)
		}
	}
}

// A folder is created for its owner only. One that others can read, a link and a file are refused, with how to fix it.
func TestEnsureRefusesWhatOthersCanAccess(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := statefolder.Ensure(in("a/new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(in("a/new")); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	if err := statefolder.Ensure(in("a/new")); err != nil {
		t.Error(err)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(in("shared"), 0o755))
	must(os.Chmod(in("shared"), 0o755))
	must(os.Symlink(in("a/new"), in("link")))
	must(os.WriteFile(in("file"), nil, 0o600))
	for name, hint := range map[string]string{"shared": "chmod 700", "link": "replace it with a folder", "file": "move it away"} {
		var refused *statefolder.AccessError
		if err := statefolder.Ensure(in(name)); !errors.As(err, &refused) || !strings.Contains(err.Error(), hint) || refused.Path != in(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := statefolder.CheckFile(in("file")); err != nil {
		t.Error(err)
	}
	must(os.Link(in("file"), in("second")))
	if err := statefolder.CheckFile(in("file")); err == nil || !strings.Contains(err.Error(), "2 hard links") {
		t.Error(err)
	}
}
