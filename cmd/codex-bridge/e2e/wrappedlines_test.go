//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// With a user's own rule that allows a command, lines without a command and with an unfinished here-document run as with
// Codex alone, also in a trusted project whose .codex is a file. A line that only looks like one stays in the sandbox.
func TestLinesWithoutCommandOrEnd(t *testing.T) {
	t.Parallel()
	lines := []struct{ line, told string }{
		{"# only", "exited with code 0"}, {"", "exited with code 0"}, {" \n\t# a\n", "exited with code 0"},
		{"cat <<EOF\nno end", "\nno end"}, {"cat <<EOF\nx\nEOF", "\nx\n"}, {"touch $OUT '<<X'", ""},
	}
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\nproject_trust = \"user\"\n"})
			w.write("home/rules/own.rules", allow(`["touch"]`))
			w.trustWorkspace()
			w.write("workspace/.codex", "x")
			out := filepath.Join(w.root, "out")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, one := range lines {
				w.model.Add(scripted.Step{When: "GO", Reply: scripted.Reply{scripted.Run(strings.ReplaceAll(one.line, "$OUT", out))}})
				a.turn(thread, "GO")
				if output := w.lastToolOutput(); !strings.Contains(output, one.told) {
					t.Errorf("%q: the model got %q", one.line, output)
				}
			}
			a.closeAndWait()
			if _, err := os.Stat(out); (err == nil) != (name == "codex alone") {
				t.Errorf("the last command has written outside the sandbox: %v", err == nil)
			}
		})
	}
}
