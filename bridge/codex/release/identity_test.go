package release_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge.example/bridge/codex/release"
)

// The identity of a Codex is that of the file behind a link, and changes with its size and its time.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "codex")
	identity := func() string {
		t.Helper()
		id, err := release.Identity(link)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	write := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o700), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := release.Identity(link); err == nil {
		t.Error("a missing file has an identity")
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	then := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	write("one", then)
	first := identity()
	write("two", then)
	if identity() != first {
		t.Error("the same size and time are another identity")
	}
	write("three", then)
	if identity() == first {
		t.Error("another size is the same identity")
	}
	write("one", then.Add(time.Millisecond))
	if identity() == first {
		t.Error("another time is the same identity")
	}
}
