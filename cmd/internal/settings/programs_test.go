package settings

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
)

// The guard gets the programs and scripts in the configuration, because they run outside the
// sandbox. Names on PATH and folders are no files.
func TestConfiguredPrograms(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"handler", "tool.py", "server", "agent", "option", "text", "agent.js"} {
		if err := os.WriteFile(at(name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Default()
	cfg.Hooks.Handlers = []config.Handler{
		{Command: []string{at("handler"), "--all"}},
		{Command: []string{"sh", "-c", "cd /; exec '" + at("text") + "' <in >out"}},
	}
	cfg.Tools = map[string]config.Tool{"t": {Command: []string{"python3", at("tool.py"), folder, at("missing"), "./x.sh", "--with=" + at("option")}}}
	cfg.ToolServers = map[string]config.ToolServer{"s": {Command: []string{at("server")}}}
	cfg.ACP.Agents = map[string]config.Agent{"a": {Command: []string{at("agent"), "agent.js"}}}
	got, scripts := configuredPrograms(cfg)
	slices.Sort(got)
	if want := []string{at("agent"), at("agent.js"), at("handler"), at("option"), at("server"), at("text"), at("tool.py")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, want := range []string{"--all", "in", "out", "./x.sh"} {
		if !slices.Contains(scripts, want) {
			t.Errorf("scripts %q lack %q", scripts, want)
		}
	}
	if slices.Contains(scripts, "sh") || slices.Contains(scripts, "python3") || slices.Contains(scripts, "agent.js") {
		t.Errorf("scripts %q have a name on PATH, or an agent's", scripts)
	}
}

// A link to a program in a folder that commands can write is named as exposed. The program itself is not: the
// sandbox protects it.
func TestLinksToConfiguredProgramsAreExposed(t *testing.T) {
	folder, err := guard.World().Paths.Canonical(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, link := filepath.Join(folder, "program"), filepath.Join(folder, "link")
	if err := errors.Join(os.WriteFile(program, nil, 0o700), os.Symlink("program", link)); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Hooks.Handlers = []config.Handler{{Command: []string{program}}, {Command: []string{"sh", link}}}
	cfg.Policy.Mode = config.Enforce
	p, err := policy.New(cfg.Policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	temps := []policy.TempFolder{{Name: "/tmp", Path: folder}}
	var got []string
	for _, one := range p.CheckSensitivePaths(Setup{}.Governing(cfg, guard.World()), temps) {
		got = append(got, one.Sensitive.Path)
	}
	if !slices.Contains(got, link) || slices.Contains(got, program) {
		t.Errorf("exposed are %q", got)
	}
}
