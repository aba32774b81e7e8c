package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
)

// WorldOf finds Codex's own folder as Codex does, with the environment of Codex.
func TestCodexHome(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	own, err := guard.World().Paths.Canonical(filepath.Join(home, ".codex"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	for name, tt := range map[string]struct {
		variable string
		codex    config.Codex
		want     string
	}{
		"not set":        {"", config.Codex{}, own},
		"set":            {filepath.Join(root, "real"), config.Codex{}, filepath.Join(root, "real")},
		"a link":         {filepath.Join(root, "link"), config.Codex{}, filepath.Join(root, "real")},
		"relative":       {"real", config.Codex{}, filepath.Join(root, "real")},
		"for codex only": {"", config.Codex{Env: map[string]string{"CODEX_HOME": filepath.Join(root, "link")}}, filepath.Join(root, "real")},
		"codex's wins":   {root, config.Codex{Env: map[string]string{"CODEX_HOME": filepath.Join(root, "real")}}, filepath.Join(root, "real")},
		"not for codex":  {root, config.Codex{EnvRemove: []string{"CODEX_HOME"}}, own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CODEX_HOME", tt.variable)
			if got := guard.WorldOf(tt.codex).CodexHome; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The policy depends on the user's file, even if it is missing, on the state folder, and on Codex's
// files. A link counts with its target.
func TestSensitiveFiles(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	for _, folder := range []string{"user", "codex/rules", "mine"} {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"mine/bridge.toml", "mine/codex.toml"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"link": ".", "user/linked.toml": "../mine/bridge.toml", "codex/config.toml": "../mine/codex.toml",
	} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CODEX_HOME", at("link/codex"))
	t.Setenv("CODEX_BRIDGE_STATE", at("link/state"))
	for _, tt := range []struct {
		config string
		want   []string
	}{
		{"", []string{"link", "mine/codex.toml", "state"}},
		{at("link/none/config.toml"), []string{"link", "mine/codex.toml", "none/config.toml", "state"}},
		{at("user/linked.toml"), []string{"link", "mine/bridge.toml", "mine/codex.toml", "state", "user/linked.toml"}},
	} {
		t.Setenv("CODEX_BRIDGE_CONFIG", tt.config)
		var got []string
		for _, place := range guard.World().Sensitive {
			name, err := filepath.Rel(root, place)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(name))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", tt.config, diff)
		}
	}
}

// Programs that Codex finds by PATH run outside the sandbox. A link to one counts with its own
// folder.
func TestFoldersOfPATH(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	for _, folder := range []string{"real/bin", "temp/bin"} {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "real", "temp/link": "../real"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", at("temp"))
	cfg := config.Default()
	cfg.Policy.Mode = config.Enforce
	p, err := policy.New(cfg.Policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path            string
		programs, links []string
		exposed         string
	}{
		"a folder":          {at("real/bin"), []string{"real/bin"}, nil, ""},
		"one that is new":   {at("real/new/bin"), []string{"real/new/bin"}, nil, ""},
		"behind a link":     {at("link/bin"), []string{"real/bin"}, []string{"link"}, ""},
		"relative":          {"bin:" + at("real/bin"), []string{"real/bin"}, nil, ""},
		"in TMPDIR":         {at("temp/bin"), []string{"temp/bin"}, nil, ""},
		"TMPDIR":            {at("temp"), []string{"temp"}, nil, at("temp")},
		"above TMPDIR":      {root, []string{"."}, nil, root},
		"a link in TMPDIR":  {at("temp/link/bin"), []string{"real/bin"}, []string{"temp/link"}, at("temp/link")},
		"two of the folder": {at("real/bin") + ":" + at("real/../real/bin"), []string{"real/bin"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			world := guard.WorldOf(config.Codex{Env: map[string]string{"PATH": test.path}})
			world.Temps = slices.DeleteFunc(world.Temps, func(t policy.TempFolder) bool { return t.Name == "/tmp" })
			in := func(paths []string) (names []string) {
				for _, path := range paths {
					if name, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(name) {
						names = append(names, filepath.ToSlash(name))
					}
				}
				return names
			}
			if diff := cmp.Diff([][]string{test.programs, test.links}, [][]string{in(world.Programs), in(world.Links)}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			exposed := ""
			for _, one := range p.CheckSensitivePaths(guard.Governing(cfg, world), world.Temps) {
				if strings.HasPrefix(one.Sensitive.Hint, "remove it from PATH") {
					exposed += one.Sensitive.Path
				}
			}
			if exposed != test.exposed {
				t.Errorf("exposed %q, want %q", exposed, test.exposed)
			}
		})
	}
}
