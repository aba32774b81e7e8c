package guard

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The warning about a project names up to five files, and counts the others.
func TestListedFiles(t *testing.T) {
	paths := []string{"a", "b", "c", "d", "e", "f", "g"}
	for n, want := range map[int]string{
		1: "a is", 2: "a, b are", 5: "a, b, c, d, e are", 6: "a, b, c, d, e, 1 more are", 7: "a, b, c, d, e, 2 more are",
	} {
		if got := listed(paths[:n]); got != want {
			t.Errorf("%d files: %q, want %q", n, got, want)
		}
	}
	if !slices.Equal(paths, []string{"a", "b", "c", "d", "e", "f", "g"}) {
		t.Errorf("the paths are now %q", paths)
	}
}

// Files count from the thread's folder up to the root of its repository, and not above.
func TestUnloadedFilesUpToTheRoot(t *testing.T) {
	_, at := inFolder(t, []string{".codex", "a/.codex", "a/b/c"}, map[string]string{"a/b/AGENTS.md": "missing"})
	if err := os.WriteFile(at("a/b/c/AGENTS.override.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string][]string{
		"a":     {at("a/b/c/AGENTS.override.md"), at("a/b/AGENTS.md"), at("a/.codex")},
		"a/b/c": {at("a/b/c/AGENTS.override.md")},
	} {
		if got := unloadedFiles(at("a/b/c"), at(root)); !slices.Equal(got, want) {
			t.Errorf("up to %s: %q, want %q", root, got, want)
		}
	}
	if got := unloadedFiles(string(filepath.Separator), at("a")); len(got) > len(projectFiles) {
		t.Errorf("of the file system's root: %q", got)
	}
}
