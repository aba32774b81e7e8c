//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A background command replaces a folder of the workspace by a link after a turn has moved there. Codex
// follows the cwd for each command anew, and would let the next one write where the link leads.
func TestCwdReplacedByLink(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv    []string
		config  string
		written bool
	}{
		"codex alone":                  {[]string{codexPath, "app-server"}, gitConfig, true},
		"the bridge":                   {proxyArgv, gitConfig, false},
		"the bridge, with its profile": {proxyArgv, gitConfig + "protected_paths = [\".github\"]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config, mute: "many"})
			w.write("workspace/a/sub/x", "")
			w.write("outside/x", "")
			a := w.agreeable(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			script := "while [ ! -e go ]; do sleep 0.05; done; mv a gone; mkdir a; ln -s " + w.root + "/outside a/sub; sleep 60"
			a.turn(thread, `CALL: exec_command {"cmd":`+marshal(t, script)+`,"yield_time_ms":500}`)
			turn, mark := a.beginWith(thread, "RUN: touch inside", map[string]any{"cwd": filepath.Join(w.workspace, "a", "sub")})
			a.end(thread, turn, mark)
			if !w.left("workspace/a/sub/inside") {
				t.Fatalf("the turn is not in its folder: %q", w.told())
			}
			w.write("workspace/go", "")
			for {
				if info, err := os.Lstat(filepath.Join(w.workspace, "a", "sub")); err == nil && info.Mode()&os.ModeSymlink != 0 {
					break
				}
				if a.ctx.Err() != nil {
					t.Fatal("the background command has not replaced the folder")
				}
				time.Sleep(20 * time.Millisecond)
			}
			a.turn(thread, "RUN: touch "+w.root+"/outside/written; pwd -P")
			if w.left("outside/written") != test.written {
				t.Errorf("written outside of the workspace: %v; the model was told %q", !test.written, w.told())
			}
			a.turn(thread, "RUN: touch "+w.workspace+"/after")
			if !test.written && !w.left("workspace/after") {
				t.Errorf("the workspace can't be written: %q", w.told())
			}
			a.quit()
		})
	}
}
