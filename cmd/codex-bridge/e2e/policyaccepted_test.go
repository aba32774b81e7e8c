//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Measured with Codex 0.169: under untrusted, Codex runs a command that was accepted and then fails in the sandbox again,
// outside of the sandbox, without another question. An exit code other than 0 and words such as "Read-only file system"
// in the output are enough.
func TestAcceptedControl(t *testing.T) {
	t.Parallel()
	for command, text := range accepted {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			// A command that takes its time to fail is not always run again.
			for range 10 {
				w := newWorld(t, options{})
				if left := w.accept([]string{codexPath, "app-server"}, text); left {
					return
				}
			}
			t.Error("no marker")
		})
	}
}

// accepted are commands, and a patch, that leave a marker outside the sandbox.
var accepted = map[string]string{
	"plain":     "RUN: touch $ROOT/marker",
	"inside":    "RUN: touch $CWD/marker",
	"pretended": "RUN: touch $ROOT/marker 2>/dev/null || { echo permission denied; false; }",
	"escalated": "ESCALATE: touch $ROOT/marker",
	"patch":     "PATCH: $ROOT/marker\nx",
}

// accept lets the model do something in a thread that is untrusted and
// read-only, accepts all that is asked, and reports whether there is a marker.
func (w *world) accept(argv []string, text string) bool {
	w.t.Helper()
	c := w.openAnswering("accept", argv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	c.say(thread, strings.NewReplacer("$ROOT", w.root, "$CWD", w.workspace).Replace(text))
	c.quit()
	for _, dir := range []string{w.root, w.workspace} {
		if _, err := os.Stat(filepath.Join(dir, "marker")); err == nil {
			return true
		}
	}
	return false
}

// Flags that switch safety off are refused before anything starts.
func TestPolicyFlags(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"} {
		for name, argv := range map[string][]string{
			"before": {proxyPath, flag, "app-server"},
			"after":  {proxyPath, "app-server", flag},
		} {
			t.Run(flag+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: policyConfig})
				c := w.open(argv...)
				c.CloseInput()
				exit, err := c.Exit(c.ctx)
				if err != nil || exit.Code != 2 {
					t.Errorf("%v %v", exit, err)
				}
			})
		}
	}
}
