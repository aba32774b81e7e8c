//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The last message goes through no link that a command has put in its place, and waits for no reader. Codex alone
// refuses, too.
func TestLastMessageFollowsNoLink(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ path, prompt, want string }{
		"link":               {"link", "SAY: stolen", "(os error 40)"},
		"linked folder":      {"folder/last", "SAY: stolen", "(os error 20)"},
		"pipe":               {"pipe", "SAY: stolen", "(os error 6)"},
		"replaced":           {"last", "RUN: ln -sfn ../kept last", "output path was replaced"},
		"file":               {"last", "SAY: said", ""},
		"own output of exec": {"/dev/stdout", "SAY: said", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, program := range []string{codexPath, proxyPath} {
				w := newWorld(t, options{codex: codexPath, config: execPolicy})
				w.write("kept", "kept")
				w.write("other/last", "kept")
				for _, err := range []error{
					os.Symlink("../kept", w.workspace+"/link"), os.Symlink("../other", w.workspace+"/folder"), syscall.Mkfifo(w.workspace+"/pipe", 0o600),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
				linked := w.root + "/linked"
				w.must(os.Symlink(w.workspace, linked))
				cmd := exec.CommandContext(deadline(t), program, "exec", "--skip-git-repo-check", "-s", "workspace-write", "-o", test.path, test.prompt)
				cmd.Env, cmd.Dir = append(w.env, "PWD="+linked), w.workspace
				var problems strings.Builder
				cmd.Stderr = &problems
				out, err := cmd.Output()
				if (err != nil) != (test.want != "") || !strings.Contains(problems.String(), test.want) {
					t.Errorf("%s ends with %v\n%s", program, err, problems.String())
				}
				if w.read("kept") != "kept" || w.read("other/last") != "kept" {
					t.Errorf("%s writes %q and %q", program, w.read("kept"), w.read("other/last"))
				}
				if name == "file" && w.read("workspace/last") != "said" || name == "own output of exec" && !strings.Contains(string(out), "said") {
					t.Errorf("%s writes %q", program, out)
				}
			}
		})
	}
}
