package headless

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
)

func TestAddedFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home) // on Windows
	cwd := filepath.Join(home, "project")
	for dir, want := range map[string]string{
		filepath.Join(home, "out"):            filepath.Join(home, "out"),
		home + filepath.FromSlash("/a/../b/"): filepath.Join(home, "b"),
		"../out":                              filepath.Join(home, "out"),
		"out":                                 filepath.Join(cwd, "out"),
		".":                                   cwd,
		"~":                                   home,
		"~/out":                               filepath.Join(home, "out"),
		"~//out":                              filepath.Join(home, "out"),
		"~other":                              filepath.Join(cwd, "~other"),
		"a~":                                  filepath.Join(cwd, "a~"),
	} {
		if got := addedFolder(cwd, dir); got != want {
			t.Errorf("%q is %q, want %q", dir, got, want)
		}
	}
}

// The current folder counts without the links in PWD.
func TestWorkFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // no PWD
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, link := filepath.Join(root, "project"), filepath.Join(root, "links", "project")
	for _, folder := range []string{project, filepath.Dir(link)} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(project, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(link) // sets PWD
	for cd, want := range map[string]string{
		"":                                project,
		"sub":                             filepath.Join(project, "sub"),
		"../other":                        filepath.Join(root, "other"),
		link:                              link,
		filepath.Join(link, "..") + "/x/": filepath.Join(root, "links", "x"),
	} {
		if got, err := workFolder(cd); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", cd, got, err, want)
		}
	}
}

// An empty folder is an error, as with Codex alone.
func TestEmptyAddedFolder(t *testing.T) {
	for _, args := range [][]string{{"exec", "--add-dir", "", "x"}, {"--add-dir=", "exec", "x"}} {
		if _, err := parseExecOptions(argv.Parse(args)); !errors.Is(err, exit.Status(exit.Config)) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
