//go:build !windows

package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
)

// Each link on the way to a file gives a reading, in the folder in which it is. The last one has no links.
func TestReadings(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{".git/hooks", "scripts", "a/b/c", "conf"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"scripts/check", "conf/x"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		".git/hooks/pre-commit": "../../scripts/check", "hooks": ".git/hooks", "one": "two", "two": "three/x", "three": "conf", "l": "a/b/c",
		"top": root, "loop": "loop", "gone": ".codex/new", ".codex": "conf", "mine": "/proc/self/cwd",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"scripts/new":                      "scripts/new",
		"./.git/./hooks//pre-commit":       ".git/hooks/pre-commit scripts/check",
		"hooks/pre-commit":                 "hooks/pre-commit .git/hooks/pre-commit scripts/check",
		"one":                              "one two three/x conf/x",
		"three/new/deep":                   "three/new/deep conf/new/deep",
		"top/top/one":                      "top/top/one top/one one two three/x conf/x",
		"l/../x":                           "x a/b/x",
		"l/../../.codex/x":                 "../.codex/x a/.codex/x",
		"scripts/../.codex/config.toml":    ".codex/config.toml conf/config.toml",
		"loop":                             "loop error",
		"gone":                             "gone .codex/new error",
		"mine/x":                           "mine/x error",
		"hooks/pre-commit/below/the/check": "hooks/pre-commit/below/the/check .git/hooks/pre-commit/below/the/check error",
	} {
		got, err := guard.Readings(root + "/" + name)
		for i := range got {
			got[i], _ = filepath.Rel(root, got[i])
		}
		if err != nil {
			got = append(got, "error")
		}
		var wanted []string
		for one := range strings.FieldsSeq(want) {
			wanted = append(wanted, one)
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(wanted))) {
			t.Errorf("%s: %q, want %q (%v)", name, got, wanted, err)
		}
	}
}

// On a disk that ignores case, a reading has the names of links as their folders store them.
func TestReadingsOnFoldingDisk(t *testing.T) {
	d := foldingDisk{
		paths: []string{"/ws", "/ws/.Codex", "/ws/conf", "/ws/conf/A"}, fold: strings.ToLower, links: map[string]string{"/ws/.CODEX": "/ws/conf"},
	}
	got, err := guard.ReadingsOn(d, "/ws/.CODEX/a")
	if want := []string{"/ws/.Codex/a", "/ws/conf/A"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}
