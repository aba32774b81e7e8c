//go:build unix

package config_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

// unsetConfig unsets the variable of the user's file for the test.
func unsetConfig(t *testing.T) {
	t.Helper()
	t.Setenv(config.EnvConfig, "")
	if err := os.Unsetenv(config.EnvConfig); err != nil {
		t.Fatal(err)
	}
}

// A home folder that is no absolute path is that of the user database, and never one in the working
// folder, where a repository could bring a configuration.
func TestHomeOfUserDatabase(t *testing.T) {
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	unsetConfig(t)
	t.Setenv("XDG_CONFIG_HOME", "relative")
	t.Setenv("XDG_STATE_HOME", "")
	for _, home := range []string{"", "relative", "./relative"} {
		t.Setenv("HOME", home)
		opts := config.Discover("")
		state, err := config.StateHome()
		if err != nil || opts.UserError != nil {
			t.Fatalf("HOME=%q: %v, %v", home, err, opts.UserError)
		}
		if opts.Home != who.HomeDir || !strings.HasPrefix(opts.User, who.HomeDir+"/") || !strings.HasPrefix(state, who.HomeDir+"/") {
			t.Errorf("HOME=%q: home %q, configuration %q, state %q; want all in %q", home, opts.Home, opts.User, state, who.HomeDir)
		}
	}
}

// A variable can name a folder below the home folder without a shell that expands it.
func TestUnexpandedFolder(t *testing.T) {
	unsetConfig(t)
	t.Setenv("HOME", "/home/ada")
	for _, folder := range []string{"~/settings", "$HOME/settings", "/home/ada/settings/"} {
		t.Setenv("XDG_CONFIG_HOME", folder)
		if got, want := config.Discover("").User, "/home/ada/settings/codex-bridge/config.toml"; got != want {
			t.Errorf("XDG_CONFIG_HOME=%q: got %q, want %q", folder, got, want)
		}
	}
}

// A file that may exist behind a link, a file in place of a folder or a folder of another user is an
// error and not an absence.
func TestUserFileThatCannotBeLookedFor(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, target := range map[string]string{"home": "unmounted", "linked.toml": "missing/config.toml"} {
		if err := os.Symlink(at(target), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, want string }{
		{at("home/.config/codex-bridge/config.toml"), "the target of the link " + at("home") + " is missing; restore the target, or remove the link"},
		{at("linked.toml"), "the target of the link " + at("linked.toml") + " is missing"},
		{at("plain/codex-bridge/config.toml"), "not a directory"},
		{at("none/codex-bridge/config.toml"), ""},
	} {
		for _, opts := range []config.Options{{User: tt.file}, {Managed: tt.file}} {
			switch _, err := config.Load(opts); {
			case tt.want == "":
				if err != nil {
					t.Errorf("%+v: %v", opts, err)
				}
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("%+v: got %v, want %q", opts, err, tt.want)
			}
		}
	}
}
