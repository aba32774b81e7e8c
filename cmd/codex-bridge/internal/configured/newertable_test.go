//go:build unix

package configured

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/internal/settings"
)

// Commands must write neither the table, nor a link to it.
func TestTableGoverns(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CODEX_BRIDGE_STATE", filepath.Join(folder, "state"))
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"config.toml": "[codex]\ntable = \"a/link.txt\"\n", "b/table.txt": "codex-bridge table 1\n-- methods.txt --\ncodex 99.0.0\n",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("b/table.txt"), at("a/link.txt")); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{User: at("config.toml"), Check: settings.CheckPolicy})
	if err != nil {
		t.Fatal(err)
	}
	world, err := Setup.CompleteWorld(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{at("a/link.txt"), at("b/table.txt")} {
		if !slices.Contains(world.Sensitive, path) {
			t.Errorf("%s may be written; not among %q", path, world.Sensitive)
		}
	}
}
