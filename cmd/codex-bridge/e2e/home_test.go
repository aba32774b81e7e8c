//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// preparedHome is a CODEX_HOME after Codex's first start, with its databases and skills and without
// config.toml. Worlds copy it. Measured with Codex 0.169: a start takes 240 ms of CPU time in a new
// home, and 170 ms in a copy.
var preparedHome string

// prepareHome starts Codex once in a new home below dir and stores that home in preparedHome.
func prepareHome(dir string) error {
	home := filepath.Join(dir, "prepared")
	if err := scripted.Home(home, "http://127.0.0.1:1", withoutPlugins("")); err != nil {
		return err
	}
	env, err := scripted.Env(home)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, err := editor.Start(editor.Options{
		Argv: []string{codexPath, "app-server"},
		Env:  append(env, "PATH="+os.Getenv("PATH"), "HOME="+home+".tmp"),
		Dir:  dir,
	})
	if err != nil {
		return err
	}
	defer e.Close(patience)
	if _, err := e.Initialize(ctx, nil); err != nil {
		return fmt.Errorf("Codex does not start: %w\n%s", err, e.Stderr())
	}
	if err := e.CloseInput(); err != nil {
		return err
	}
	if _, err := e.Exit(ctx); err != nil { // only then the databases are complete
		return fmt.Errorf("Codex does not exit: %w\n%s", err, e.Stderr())
	}
	preparedHome = home
	return os.Remove(filepath.Join(home, "config.toml"))
}

// copyHome makes home a copy of preparedHome. The files of the skills are links: Codex reads them
// only.
func copyHome(home string) error {
	return filepath.WalkDir(preparedHome, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(preparedHome, path)
		if err != nil {
			return err
		}
		to := filepath.Join(home, name)
		switch {
		case name == "tmp": // each Codex links to itself there
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o700)
		case strings.HasPrefix(name, "skills/"):
			return os.Link(path, to)
		case entry.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o600)
		default:
			return nil
		}
	})
}

// withoutPlugins turns plugins off in TOML for Codex's config.toml, unless the TOML sets them
// itself. With plugins on, each start of Codex asks GitHub for a list of plugins, and clones it
// where there is a network. Measured with Codex 0.169: that takes 40 ms of CPU time even without a
// network.
func withoutPlugins(config string) string {
	const table, off = "[features]\n", "plugins = false\n"
	switch {
	case strings.Contains(config, "plugins = "):
		return config
	case strings.Contains(config, table):
		return strings.Replace(config, table, table+off, 1)
	default:
		return config + "\n" + table + off
	}
}

// hideRelease puts a failing lsb_release in front of PATH. Codex runs it twice at each start and
// reads /etc/os-release if it fails; Debian's is a shell script that starts a dozen programs, 30 ms
// of CPU time.
func hideRelease(dir string) error {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, "lsb_release"), []byte("#!/bin/false\n"), 0o700); err != nil {
		return err
	}
	return os.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}
