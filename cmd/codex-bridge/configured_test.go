package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
)

// The guard gets the programs and scripts with absolute paths in the configuration, because they
// run outside the sandbox. Bare names, options and folders are not programs.
func TestConfiguredPrograms(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"handler", "tool.py", "server", "agent"} {
		if err := os.WriteFile(at(name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Default()
	cfg.Hooks.Handlers = []config.Handler{{Command: []string{at("handler"), "--all"}}}
	cfg.Tools = map[string]config.Tool{"t": {Command: []string{"python3", at("tool.py"), folder, at("missing")}}}
	cfg.ToolServers = map[string]config.ToolServer{"s": {Command: []string{at("server")}}}
	cfg.ACP.Agents = map[string]config.Agent{"a": {Command: []string{at("agent"), "handler"}}}
	got := configuredPrograms(cfg)
	slices.Sort(got)
	if want := []string{at("agent"), at("handler"), at("server"), at("tool.py")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
