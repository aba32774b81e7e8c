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

// Commands can't write or move a protected path in a writable root of Codex's configuration, whether it exists, and
// whether the configuration or a turn makes the root writable. With Codex alone they can. Under the bridge a turn without
// the root writes nothing there, and nothing is left.
func TestProtectedPathsInConfiguredRoot(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: execPolicy})
			root := filepath.Join(w.root, "other")
			w.write("other/.github/workflows/own.yml", "own")
			w.write("home/config.toml", w.read("home/config.toml")+"\n[sandbox_workspace_write]\nwritable_roots = ["+strconv.Quote(root)+"]\n")
			w.write("config.toml", execPolicy+"protected_paths = [\".github/workflows\", \"build\"]\nwritable_roots = [\"${workspace}\", "+strconv.Quote(root)+"]\n")
			w.write("attack.sh", "cd "+root+"; mkdir -p build; for f in free build/a .github/workflows/b; do echo x > $f; done; mv .github moved; echo RAN\n")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, roots := range [][]string{nil, {root}, {}} {
				var more map[string]any // the first turn keeps the roots of the configuration
				if roots != nil {
					more = map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "writableRoots": roots}}
				}
				a.turnWith(thread, "RUN: sh ../attack.sh", more)
				output := w.lastToolOutput()
				want := []string{"free", "build/a", "moved/workflows/b"}
				switch {
				case name == "codex alone": // the configuration counts in each turn
				case roots != nil && len(roots) == 0:
					want = nil
				default:
					want = want[:1]
				}
				written := slices.DeleteFunc([]string{"free", "build/a", ".github/workflows/b", "moved/workflows/b"}, func(file string) bool { return !w.hasFile("other/" + file) })
				if !slices.Equal(written, want) || !strings.Contains(output, "RAN") {
					t.Errorf("roots %q: written %q, want %q; the model got %q", roots, written, want, output)
				}
				a.waitUntil("nothing is left", func() bool { return name == "codex alone" || !w.hasFile("other/build") })
				for _, file := range []string{"free", "build", "moved", ".github/workflows/b"} {
					if err := os.RemoveAll(filepath.Join(root, file)); err != nil {
						t.Fatal(err)
					}
				}
				w.write("other/.github/workflows/own.yml", "own")
			}
			a.closeAndWait()
		})
	}
}
