package config_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
)

func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))

	t.Run("default", func(t *testing.T) {
		t.Setenv(config.EnvConfig, "")
		if err := os.Unsetenv(config.EnvConfig); err != nil {
			t.Fatal(err)
		}
		opts := config.Discover("/code")
		if opts.User != filepath.Join(dir, "xdg", "codex-bridge", "config.toml") || opts.UserRequired {
			t.Errorf("got %+v", opts)
		}
		if opts.Workspace != "/code" || opts.Home != dir || !filepath.IsAbs(opts.Managed) {
			t.Errorf("got %+v", opts)
		}
	})
	t.Run("empty is none", func(t *testing.T) {
		t.Setenv(config.EnvConfig, "")
		if opts := config.Discover(""); opts.User != "" || opts.UserRequired {
			t.Errorf("got %+v", opts)
		}
	})
	t.Run("named", func(t *testing.T) {
		t.Setenv(config.EnvConfig, "x.toml")
		if opts := config.Discover(""); opts.User != "x.toml" || !opts.UserRequired {
			t.Errorf("got %+v", opts)
		}
	})
}

// Every policy file in a folder and above it counts. A repository or a file in between hides none.
func TestWorkspaceFiles(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	for _, folder := range []string{at("top", "repository", ".git"), at("top", "repository", "inner", "deep"), at("other")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	outer, inner := at("top", config.WorkspaceFile), at("top", "repository", "inner", config.WorkspaceFile)
	for file, text := range map[string]string{outer: "[policy]\napproval = [\"untrusted\"]\n", inner: "[policy]\nsandbox = \"read-only\"\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("top", "repository"), at("other", "link")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][]string{
		at("top"): {outer}, at("top", "repository"): {outer}, at("other", "link"): {outer}, at("top", "repository", "inner", "deep"): {outer, inner},
		at("top", "repository", "inner", "missing"): {outer, inner}, at("other"): nil, outer: {outer},
	} {
		if got := config.WorkspaceFiles(folder); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}

	deep := config.Options{Workspace: at("top", "repository", "inner", "deep")}
	c, err := config.Load(deep)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Policy; p.Mode != config.Enforce || !slices.Equal(p.Approval, []string{"untrusted"}) || p.Sandbox != "read-only" {
		t.Errorf("of two files: %q, %v, %q", p.Mode, p.Approval, p.Sandbox)
	}

	// An inner file that does not load takes nothing from the outer one, and the other way round.
	for invalid, want := range map[string]string{inner: "workspace-write", outer: "read-only"} {
		text, err := os.ReadFile(invalid)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(invalid, []byte("[policy]\nsandbox = 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := config.LoadLenient(deep); err != nil || c.WorkspaceError() == nil || c.Policy.Mode != config.Enforce || c.Policy.Sandbox != want {
			t.Errorf("without %s: %+v, %v", invalid, c, err)
		}
		if err := os.WriteFile(invalid, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Editors move a file away before they write a new one. Windows allows that only if each program that reads
// the file does.
func TestFilesCanBeMovedWhileTheyAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	put(t, file, policy("audit"))
	f, err := config.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(file, file+"~"); err != nil {
		t.Fatal(err)
	}
	put(t, file, policy("enforce"))
	if b, err := io.ReadAll(f); err != nil || string(b) != policy("audit") {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != policy("enforce") {
		t.Errorf("%q, %v", b, err)
	}
}
