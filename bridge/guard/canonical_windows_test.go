package guard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
)

// Each spelling of a file has one canonical path; those that Windows reads in another way have none.
func TestCanonicalOnWindows(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "Folder", "File.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		file,
		strings.ToLower(file),
		strings.ToUpper(file),
		filepath.ToSlash(file),
		`\\?\` + file,
		`\??\` + strings.ToUpper(file),
		filepath.Dir(file) + `\..\folder\.\file.TXT`,
	} {
		for name, resolve := range map[string]func(string) (string, error){"canonical": guard.Canonical, "follow": guard.Follow} {
			if got, err := resolve(path); got != file || err != nil {
				t.Errorf("%s of %s: got %s, %v; want %s", name, path, got, err, file)
			}
		}
	}
	if got, err := guard.Canonical(strings.ToLower(filepath.Dir(file)) + `\New.txt`); got != filepath.Join(filepath.Dir(file), "New.txt") || err != nil {
		t.Errorf("a new file: got %s, %v", got, err)
	}
	for _, path := range []string{file + ".", file + " ", file + "::$DATA", file + ":stream", `\\.\` + file, filepath.Dir(file) + `\NUL`} {
		if got, err := guard.Canonical(path); err == nil {
			t.Errorf("%s: got %s, want an error", path, got)
		}
	}
}
