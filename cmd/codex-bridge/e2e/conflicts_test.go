//go:build linux

package e2e_test

import (
	"os"
	"testing"
)

// A policy file of the repository only tightens: a protected path that it names below a folder of PATH or
// below another protected path does not make that writable. Without the file the same commands fail, too;
// with Codex alone they succeed.
func TestProtectedPathInReadOnlyFolder(t *testing.T) {
	t.Parallel()
	const own = `".git", ".codex", ".agents", ".github"`
	for name, test := range map[string]struct {
		argv []string
		more string // protected by the file of the repository
		runs bool   // what the command writes is written
	}{
		"codex alone":                     {[]string{codexPath, "app-server"}, "", true},
		"no policy file":                  {proxyArgv, "", false},
		"a file among the programs":       {proxyArgv, ".venv/bin/activate", false},
		"a missing one among them":        {proxyArgv, ".venv/bin/m", false},
		"one below a folder among them":   {proxyArgv, ".venv/bin/x/y", false},
		"a path below a protected folder": {proxyArgv, ".github/workflows/deep/x", false},
	} {
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
			a := w.agreeable(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, file := range []string{".venv/bin/git", ".venv/bin/x/new", ".github/workflows/new.yaml", ".github/workflows/deep/new"} {
				// By a program of its own: of a redirection the bridge reads the name.
				a.turn(thread, `RUN: python3 -c 'open("`+file+`", "w")'; touch ran`)
				if told := w.told(); !w.left("workspace/ran") || w.left("workspace/"+file) != test.runs {
					t.Errorf("%s: written: %v; the model was told %.300q", file, w.left("workspace/"+file), told)
				}
				if err := os.Remove(w.workspace + "/ran"); err != nil {
					t.Error(err)
				}
			}
			a.quit()
		})
	}
}
