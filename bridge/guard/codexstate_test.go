//go:build !windows

package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

// Codex may keep its databases where a variable or a configuration file says. A project's file
// counts only if the user trusts the project.
func TestDatabaseFolders(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, start := filepath.Join(root, "home"), filepath.Join(root, "project/folder")
	t.Setenv("HOME", root+"/user")
	const big = 1 << 20
	trusted := func(folder, level string) string {
		return "[projects.\"" + folder + "\"]\ntrust_level = \"" + level + "\"\n"
	}
	const own = "sqlite_home = \"db\"\n"
	for name, test := range map[string]struct {
		env, codexHome string
		files          map[string]string
		want           []string
		problem        string // the file that can't be read
	}{
		"nothing":                     {codexHome: home},
		"a variable":                  {env: "CODEX_SQLITE_HOME=/srv/db", codexHome: home, want: []string{"/srv/db"}},
		"a relative one":              {env: "CODEX_SQLITE_HOME=db", codexHome: home, want: []string{start + "/db"}},
		"in the home":                 {env: "CODEX_SQLITE_HOME=~/db", codexHome: home, want: []string{root + "/user/db"}},
		"the home":                    {env: "CODEX_SQLITE_HOME=~", codexHome: home, want: []string{root + "/user"}},
		"another name with a tilde":   {env: "CODEX_SQLITE_HOME=~ada/db", codexHome: home, want: []string{start + "/~ada/db"}},
		"an empty variable":           {env: "CODEX_SQLITE_HOME=", codexHome: home},
		"the user's file":             {codexHome: home, files: map[string]string{"home/config.toml": own}, want: []string{home + "/db"}},
		"the managed file":            {codexHome: home, files: map[string]string{"home/managed_config.toml": own}, want: []string{home + "/db"}},
		"CODEX_HOME is unknown":       {files: map[string]string{"home/config.toml": own}},
		"a file that is no TOML":      {codexHome: home, files: map[string]string{"home/config.toml": own + "["}, problem: "home/config.toml"},
		"a deep file":                 {codexHome: home, files: map[string]string{"home/config.toml": own + "x = " + strings.Repeat("[", 65) + strings.Repeat("]", 65)}, problem: "home/config.toml"},
		"a project's unreadable file": {codexHome: home, files: map[string]string{"project/.codex/config.toml": own + "x = {\"$__toml_private_datetime\" = \"1979-05-27\"}", "home/config.toml": trusted(root+"/project", "trusted")}, problem: "project/.codex/config.toml"},
		"a file in place of a folder": {codexHome: home, files: map[string]string{"project/.codex": own, "home/config.toml": trusted(root+"/project", "trusted")}},
		"one of an untrusted project": {codexHome: home, files: map[string]string{"project/.codex/config.toml": own + "["}},
		"a file of the greatest size": {codexHome: home, files: map[string]string{"home/config.toml": own + strings.Repeat("#", big-len(own))}, want: []string{home + "/db"}},
		"a larger file":               {codexHome: home, files: map[string]string{"home/config.toml": own + strings.Repeat("#", big-len(own)+1)}, problem: "home/config.toml"},
		"a project that is not named": {codexHome: home, files: map[string]string{"project/.codex/config.toml": own}},
		"a project that is trusted":   {codexHome: home, files: map[string]string{"project/.codex/config.toml": own, "home/config.toml": trusted(root+"/project", "trusted")}, want: []string{root + "/project/.codex/db"}},
		"its folder":                  {codexHome: home, files: map[string]string{"project/folder/.codex/config.toml": own, "home/config.toml": trusted(root+"/project", "trusted")}, want: []string{start + "/.codex/db"}},
		"a project that is untrusted": {codexHome: home, files: map[string]string{"project/.codex/config.toml": own, "home/config.toml": trusted(root+"/project", "untrusted")}},
		"another project is trusted":  {codexHome: home, files: map[string]string{"project/.codex/config.toml": own, "home/config.toml": trusted(root+"/other", "trusted")}},
		"a project with another path": {codexHome: home, files: map[string]string{"project/.codex/config.toml": own, "home/config.toml": trusted("project", "trusted")}},
		"a folder in place of a file": {codexHome: home, files: map[string]string{"home/config.toml/x": own}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, folder := range []string{"home", "project"} {
				if err := os.RemoveAll(filepath.Join(root, folder)); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range test.files {
				at := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, problems := databaseFolders([]string{"OTHER=/x", test.env}, start, test.codexHome)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.problem == "" && problems != nil || test.problem != "" && (len(problems) != 1 || problems[0].File != filepath.Join(root, test.problem)) {
				t.Errorf("problems %v, want one about %q", problems, test.problem)
			}
		})
	}
}

// Codex must not run commands on another server.
func TestCheckExecServer(t *testing.T) {
	for value, refused := range map[string]bool{"": false, " ": false, "none": true, "http://127.0.0.1:1": true} {
		t.Setenv("CODEX_EXEC_SERVER_URL", value)
		if got := CheckExecServer(config.Codex{}) != nil; got != refused {
			t.Errorf("%q is refused: %v", value, got)
		}
		if got := CheckExecServer(config.Codex{EnvRemove: []string{"CODEX_EXEC_SERVER_URL"}}); got != nil {
			t.Errorf("%q is refused without the variable", value)
		}
	}
}
