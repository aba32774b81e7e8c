package guard

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
)

// Each search counts as a whole: a link to a program counts with its present target, although it has the same
// name. After an error, the files of the last search count.
func TestLastSearchOfConfiguredFilesCounts(t *testing.T) {
	w := newAgentWorld(t, func(*config.Policy) {})
	folder, err := filesystem{}.Canonical(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	one, other, link := filepath.Join(folder, "one"), filepath.Join(folder, "other"), filepath.Join(folder, "link")
	for _, name := range []string{one, other} {
		if err := os.WriteFile(name, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var failed error
	if err := w.g.SetConfiguredFiles(func() (ConfiguredFiles, error) {
		return ConfiguredFiles{Programs: []string{link}, Scripts: []string{"a.sh"}}, failed
	}); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{one, other} {
		_ = os.Remove(link) // the first time it is missing
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := w.g.updateFiles(); err != nil {
			t.Fatal(err)
		}
		now := w.g.machine()
		if !slices.Contains(now.Programs, target) || !slices.Contains(now.Links, link) || !slices.Equal(now.Scripts, []string{"a.sh"}) {
			t.Errorf("programs %q, links %q, scripts %q", now.Programs, now.Links, now.Scripts)
		}
	}
	if now := w.g.machine(); slices.Contains(now.Programs, one) {
		t.Errorf("the programs %q have a former target", now.Programs)
	}
	failed = errors.New("a loop of links")
	if err := w.g.updateFiles(); err == nil || !slices.Contains(w.g.machine().Programs, other) {
		t.Errorf("after an error (%v) the files of the last search do not count", err)
	}
}
