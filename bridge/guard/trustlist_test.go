package guard_test

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
)

// The list has the projects that are trusted when it is written. It is never written again, and an invalid
// one trusts nothing.
func TestTrustList(t *testing.T) {
	home := t.TempDir()
	t.Setenv("CODEX_HOME", home)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want map[string]bool) {
		t.Helper()
		list := guard.ReadTrustList(home)
		for project, counts := range want {
			if list.Counts(project) != counts {
				t.Errorf("%s: %s counts: %v, want %v", when, project, !counts, counts)
			}
		}
	}
	trusted := "[projects.\"/a \\\" b\"]\ntrust_level = \"trusted\"\n[projects.\"/no\"]\ntrust_level = \"untrusted\"\n"
	write("config.toml", trusted)
	check("without a list", map[string]bool{"/a \" b": true, "/later": true})
	for _, more := range []string{"", "[projects.\"/later\"]\ntrust_level = \"trusted\"\n"} {
		write("config.toml", trusted+more)
		if err := guard.WriteTrustList(config.Codex{}); err != nil {
			t.Fatal(err)
		}
		check("with a list", map[string]bool{"/a \" b": true, "/no": false, "/later": false})
	}
	write("codex-bridge-trust.toml", "trusted = [\"/later/\"]")
	check("changed by the user", map[string]bool{"/a \" b": false, "/later": true})
	write("codex-bridge-trust.toml", "trusted = [")
	check("invalid", map[string]bool{"/a \" b": false, "/later": false})
	if list := guard.ReadTrustList(home); list.Err == nil {
		t.Error("an invalid list has no error")
	}
}

// A list that can't be written is an error, and so is one that is no file.
func TestTrustListCannotBeWritten(t *testing.T) {
	home := t.TempDir()
	t.Setenv("CODEX_HOME", home)
	if err := os.Symlink(filepath.Join(home, "none", "list"), filepath.Join(home, "codex-bridge-trust.toml")); err != nil {
		t.Fatal(err)
	}
	if guard.ReadTrustList(home).Counts("/a") {
		t.Error("with a link to nowhere a project counts")
	}
	t.Setenv("CODEX_HOME", filepath.Join(home, "none"))
	if err := guard.WriteTrustList(config.Codex{}); err != nil {
		t.Errorf("Codex does not start with a missing CODEX_HOME, which is no error of the list: %v", err)
	}
}
