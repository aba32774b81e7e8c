//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Measured with Codex 0.169: under untrusted, if an accepted command fails in the sandbox, Codex
// runs it again outside the sandbox, without a question. It needs an exit code other than 0 and
// output such as "Read-only file system".
//
// The test runs alone, since Codex does not retry a command that fails slowly.
func TestAcceptedControl(t *testing.T) {
	for command, text := range accepted {
		t.Run(command, func(t *testing.T) {
			for range 10 {
				w := newWorld(t, options{})
				if left := w.acceptAll([]string{codexPath, "app-server"}, text); left {
					return
				}
			}
			t.Error("the marker is missing")
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

// acceptAll makes the model act in an untrusted, read-only thread, accepts all questions, and
// reports whether the marker exists.
func (w *world) acceptAll(argv []string, text string) bool {
	w.t.Helper()
	c := w.openAnswering("accept", argv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	c.runTurn(thread, strings.NewReplacer("$ROOT", w.root, "$CWD", w.workspace).Replace(text))
	c.closeAndWait()
	for _, dir := range []string{w.root, w.workspace} {
		if _, err := os.Stat(filepath.Join(dir, "marker")); err == nil {
			return true
		}
	}
	return false
}

// Flags that disable safety are refused before Codex starts.
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
