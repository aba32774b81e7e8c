package codex_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := func(name, to string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := write("named/codex", 0o700)
	configured := write("configured/codex", 0o700)
	inPath := write("path/codex", 0o700)
	other := write("path/codex-nightly", 0o700)
	plain := write("plain/codex", 0o600)
	ours := link("ours/codex", self)
	write("folder/codex/x", 0o600)
	folder := filepath.Join(dir, "folder", "codex")

	for _, c := range []struct {
		name, env, configured string
		path                  []string
		want                  string
		problem               string // part of the error
	}{
		{"the environment first", named, configured, []string{inPath}, named, ""},
		{"then the configuration", "", configured, []string{inPath}, configured, ""},
		{"then PATH", "", "codex", []string{inPath}, inPath, ""},
		{"another name in PATH", "", "codex-nightly", []string{inPath}, other, ""},
		{"PATH without ourselves", "", "codex", []string{ours, inPath}, inPath, ""},
		{"PATH without what can't be run", "", "codex", []string{plain, folder, inPath}, inPath, ""},
		{"named and missing", filepath.Join(dir, "no"), "codex", []string{inPath}, "", "no such file"},
		{"named and ourselves", ours, "codex", []string{inPath}, "", "codex-bridge itself"},
		{"named and a folder", folder, "codex", []string{inPath}, "", "folder"},
		{"configured and ourselves", "", ours, []string{inPath}, "", "codex-bridge itself"},
		{"configured and not executable", "", plain, []string{inPath}, "", "not executable"},
		{"nothing in PATH", "", "codex", []string{plain}, "", `no "codex" in PATH`},
		{"only ourselves in PATH", "", "codex", []string{ours}, "", "codex-bridge itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dirs []string
			for _, file := range c.path {
				dirs = append(dirs, filepath.Dir(file))
			}
			t.Setenv("PATH", strings.Join(dirs, string(filepath.ListSeparator)))
			t.Setenv(codex.Env, c.env)
			got, err := codex.Find(c.configured)
			if c.problem == "" {
				if err != nil || got != c.want {
					t.Errorf("got %q, %v; want %q", got, err, c.want)
				}
				return
			}
			var find *codex.FindError
			if !errors.As(err, &find) || !strings.Contains(find.Problem, c.problem) || find.Hint == "" {
				t.Errorf("got %q, %v; want an error with %q and its hint", got, err, c.problem)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestStartRefusesDeepNesting(t *testing.T) {
	t.Setenv("CODEX_BRIDGE_DEPTH", "8")
	_, err := codex.Start(codex.Command{Path: "/bin/sh"})
	var find *codex.FindError
	if !errors.As(err, &find) || !strings.Contains(find.Problem, "started by itself") {
		t.Errorf("got %v", err)
	}
}
