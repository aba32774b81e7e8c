package guard

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// A file that the user's configuration includes counts as the user's only if commands can't write it.
// They can in the repository, in the workspace of a thread and in a temporary folder, except for a
// file that each sandbox mounts read-only.
func TestUserConfigurationThatCommandsCanWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file  string
		world func(r *gitRepository) policy.State
		found bool
	}{
		"in the repository": {file: "repository/inc", found: true},
		"protected": {file: "repository/inc", world: func(r *gitRepository) policy.State {
			return policy.State{Programs: []string{r.path("repository/inc")}}
		}},
		"in a temporary folder": {file: "temp/inc", world: func(r *gitRepository) policy.State {
			return policy.State{Temps: []policy.TempFolder{{Path: r.path("temp")}}}
		}, found: true},
		"elsewhere": {file: "elsewhere/inc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitRepository(t)
			r.write(test.file, "[filter \"x\"]\nclean = "+r.path("evil")+" clean\n", 0o600)
			r.write("repository/.gitattributes", "* filter=x\n", 0o600)
			r.git("config", "--global", "include.path", r.path(test.file))
			g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: r.env}}}
			if test.world != nil {
				g.world = test.world(r)
			}
			keys, err := g.repositoryPrograms(t.Context(), r.folder)
			if err != nil || (len(keys) > 0) != test.found || !r.status() {
				t.Errorf("found %q, %v", keys, err)
			}
		})
	}
}

// In a thread below the top of a repository, a file anywhere in the repository is not the user's.
func TestUserConfigurationAboveTheFolder(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.write("repository/inc", "[filter \"x\"]\nclean = evil\n", 0o600)
	r.write("repository/sub/file", "", 0o600)
	r.git("config", "--global", "include.path", r.path("repository/inc"))
	keys, err := (&Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: r.env}}}).repositoryPrograms(t.Context(), r.path("repository/sub"))
	if err != nil || len(keys) != 1 {
		t.Errorf("found %q, %v", keys, err)
	}
}

// Keys of the scope "command" come from Codex and don't count. Keys of the scopes "system" and
// "global" count only if commands can write their file.
func TestProgramKeysByScope(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]int{"command": 0, "system": 1, "global": 1, "local": 2, "worktree": 2} {
		list := ""
		for _, file := range []string{"own", "other"} {
			list += scope + "\x00file:" + file + "\x00filter.x.clean\nevil\x00"
		}
		keys, err := programKeys(list, func(file string) bool { return file == "own" })
		if err != nil || len(keys) != want {
			t.Errorf("%s: found %q, %v", scope, keys, err)
		}
	}
}

// gitFiles returns the user's configuration files of git, where git looks for them.
func TestGitFiles(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ env, want []string }{
		{nil, []string{home + "/.gitconfig", home + "/.config/git/config"}},
		{[]string{"HOME=/h"}, []string{"/h/.gitconfig", "/h/.config/git/config"}},
		{[]string{"HOME=/h", "XDG_CONFIG_HOME=/x", "GIT_CONFIG_GLOBAL=/g", "GIT_CONFIG_SYSTEM=s"}, []string{"/g", "/h/.gitconfig", "/x/git/config"}},
	} {
		var got []string
		for _, file := range gitFiles(test.env) {
			got = append(got, filepath.ToSlash(file))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.env, got, test.want)
		}
	}
}
