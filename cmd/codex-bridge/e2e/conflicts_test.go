//go:build linux

package e2e_test

import (
	"os"
	"testing"
)

// A repository's policy file only tightens: its protected path below a folder of PATH, or below
// another protected path, does not become writable. Without the file the commands fail too; with
// Codex alone they succeed.
func TestProtectedPathInReadOnlyFolder(t *testing.T) {
	t.Parallel()
	const own = `".git", ".codex", ".agents", ".github"`
	for name, test := range map[string]struct {
		argv []string
		more string // protected by the repository's file
		runs bool   // the command writes its file
	}{
		"codex alone":                     {[]string{codexPath, "app-server"}, "", true},
		"no policy file":                  {proxyArgv, "", false},
		"a file among the programs":       {proxyArgv, ".venv/bin/activate", false},
		"a missing one among them":        {proxyArgv, ".venv/bin/m", false},
		"one below a folder among them":   {proxyArgv, ".venv/bin/x/y", false},
		"a path below a protected folder": {proxyArgv, ".github/workflows/deep/x", false},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [" + own + "]\n"})
			w.write("workspace/.venv/bin/activate", "")
			w.write("workspace/.venv/bin/x/y/z", "")
			w.write("workspace/.github/workflows/ci.yaml", "on: push\n")
			w.write("workspace/.github/workflows/deep/x/z", "")
			if test.more != "" {
				w.write("workspace/.codex-bridge.toml", "[policy]\nprotected_paths = ["+own+", \""+test.more+"\"]\n")
			}
			w.env = append(w.env, "PATH="+w.workspace+"/.venv/bin:"+os.Getenv("PATH"))
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, file := range []string{".venv/bin/git", ".venv/bin/x/new", ".github/workflows/new.yaml", ".github/workflows/deep/new"} {
				// A program writes the file: the bridge would see the name of a redirection.
				a.turn(thread, `RUN: python3 -c 'open("`+file+`", "w")'; touch ran`)
				if output := w.lastToolOutput(); !w.hasFile("workspace/ran") || w.hasFile("workspace/"+file) != test.runs {
					t.Errorf("%s: written %v; the model got %.300q", file, w.hasFile("workspace/"+file), output)
				}
				if err := os.Remove(w.workspace + "/ran"); err != nil {
					t.Error(err)
				}
			}
			a.closeAndWait()
		})
	}
}
