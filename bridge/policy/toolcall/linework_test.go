package toolcall

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// straight is a file system without links.
type straight struct{}

func (straight) Canonical(path string) (string, error)  { return path, nil }
func (straight) Follow(path string) (string, error)     { return path, nil }
func (straight) Readings(path string) ([]string, error) { return []string{filepath.Clean(path)}, nil }

// A line's folders are followed until their paths need more work than the bound. A path that no
// program can open needs none.
func TestWorkOfFolders(t *testing.T) {
	names := func(n int) string { return strings.Repeat("/a", n) } // 2n bytes, and the square of n as its work
	for _, test := range []struct {
		name     string
		paths    []string
		followed bool // the last one
	}{
		{"short", []string{"/a", "/b"}, true},
		{"as much as the bound", []string{names(2048)}, true},
		{"more than the bound", []string{names(2049)}, false},
		{"after the bound", []string{names(2048), "/a"}, false},
		{"after more than the bound", []string{names(2049), "/a"}, false},
		{"together as much as the bound", []string{names(2047), names(63), names(11), names(2), "/a"}, true},
		{"together more than the bound", []string{names(2047), names(63), names(11), names(2), "/a", "/a"}, false},
		{"the longest path", []string{names(4096)}, false},
		{"after a longer path", []string{names(4096) + "a", "/a"}, true},
	} {
		resolver := lineResolver{State: policy.State{Paths: straight{}}}
		var err error
		for _, path := range test.paths {
			_, err = resolver.followFolder(path)
		}
		if (err == nil) != test.followed {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
