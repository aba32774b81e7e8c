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
		"hard link":          {"hard", "SAY: stolen", "output has multiple hard links"},
		"linked meanwhile":   {"last", "RUN: ln last other", "output has multiple hard links"},
		"not normalized":     {"tmp/../last", "SAY: said", "normalized path"},
		"folder":             {"tmp/", "SAY: said", "output must name a file"},
		"to read":            {"/dev/fd/3", "SAY: said", "output descriptor is not writable"},
		"not open":           {"/dev/fd/99", "SAY: said", "(os error 9)"},
		"file":               {"last", "SAY: said", ""},
		"own output of exec": {"/dev/stdout", "SAY: said", ""},
		"open file":          {"/dev/fd/4", "SAY: said", ""},
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
				w.must(os.Link(w.root+"/kept", w.workspace+"/hard"))
				cmd := exec.CommandContext(deadline(t), program, "exec", "--skip-git-repo-check", "-s", "workspace-write", "-o", test.path, test.prompt)
				cmd.Env, cmd.Dir = append(w.env, "PWD="+linked), w.workspace
				var problems strings.Builder
				cmd.Stderr = &problems
				folder, err := os.Open(w.workspace)
				w.must(err)
				defer folder.Close()
				out, err := os.Create(w.root + "/out")
				w.must(err)
				defer out.Close()
				_, err = out.WriteString("earlier\n") // stays
				w.must(err)
				cmd.Stdout, cmd.ExtraFiles = out, []*os.File{folder, out}
				err = cmd.Run()
				if (err != nil) != (test.want != "") || !strings.Contains(problems.String(), test.want) {
					t.Errorf("%s ends with %v\n%s", program, err, problems.String())
				}
				if w.read("kept") != "kept" || w.read("other/last") != "kept" {
					t.Errorf("%s writes %q and %q", program, w.read("kept"), w.read("other/last"))
				}
				want, printed := map[string]string{"own output of exec": "earlier\nsaid\n", "file": "earlier\nsaid\n", "open file": "earlier\nsaidsaid\n"}[name], w.read("out")
				if name == "file" && w.read("workspace/last") != "said" || want != "" && printed != want {
					t.Errorf("%s writes %q", program, printed)
				}
			}
		})
	}
}
