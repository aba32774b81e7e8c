//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The folders of --add-dir are workspace roots, as with Codex alone, where policy.writable_roots has them. A warning names
// one that it does not have. Denials of the user's own profile below each root count in all of them. A resume has the
// roots of its own command line.
func TestExecAddedFolders(t *testing.T) {
	t.Parallel()
	folders := []string{"added", "other", "user/tilde"}
	for _, program := range []string{codexPath, proxyPath} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codex: codexPath, config: execPolicy, codexConfig: denyingProfile})
			for _, folder := range folders {
				w.write(folder+"/keys/id", deniedSecret)
			}
			allowed := filepath.Join(w.root, "added")
			w.write("config.toml", execPolicy+"writable_roots = [\"${workspace}\", "+strconv.Quote(allowed)+", \"~/tilde\"]\n")
			w.write("probe.sh", "cd \"$1\"; for d in "+strings.Join(folders, " ")+"; do (echo x > $d/made); cat $d/keys/id && echo READ $d; done; echo RAN\n")
			probe := "RUN: sh ../probe.sh '" + w.root + "'"
			for _, test := range []struct {
				args  []string
				roots []string
			}{
				{[]string{"--add-dir", "../added", "exec", "--add-dir", "~/tilde", probe}, []string{"added", "user/tilde"}},
				{[]string{"exec", "--add-dir", "../other", "resume", "--last", probe}, []string{"other"}},
			} {
				_, stderr, status := w.execute(program, "", test.args...)
				output := w.lastToolOutput()
				if status != 0 || !strings.Contains(output, "RAN") {
					t.Fatalf("%q: status %d, the model got %q\n%s", test.args, status, output, stderr)
				}
				for _, folder := range folders {
					isRoot := slices.Contains(test.roots, folder)
					isWritten, isRead := w.hasFile(folder+"/made"), strings.Contains(output, "READ "+folder)
					if want := isRoot && (program == codexPath || folder != "other"); isWritten != want {
						t.Errorf("%q: written in %s: %v", test.args, folder, isWritten)
					}
					if isRoot && isRead || program == codexPath && isRead == isRoot {
						t.Errorf("%q: read in %s: %v", test.args, folder, isRead)
					}
					if err := os.RemoveAll(filepath.Join(w.root, folder, "made")); err != nil {
						t.Fatal(err)
					}
				}
				other := strconv.Quote(filepath.Join(w.root, "other"))
				warning := "codex-bridge has removed workspace roots: " + other + " is "
				if want := program == proxyPath && slices.Contains(test.roots, "other"); strings.Contains(stderr, warning) != want {
					t.Errorf("%q: the warning about %s: %v\n%s", test.args, other, !want, stderr)
				}
			}
		})
	}
}
