//go:build linux

package e2e_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// The demo plays to its end against the real codex, and says what it found.
func TestDemo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codex: codexShim}) // beside which is an MCP server
	cmd := exec.CommandContext(deadline(t), proxyPath, "demo")
	cmd.Env, cmd.Dir = w.env, w.workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"The real codex (0.169.0)",
		"ok what is in force: approvalPolicy untrusted, sandbox readOnly",
		"ok hello.txt was not written, nor was way-out.txt",
		"ok codex itself says: the hook has blocked it",
		"ok tools called: 2; the editor was asked to run none of them",
		"ok error -32700",
		"ok thread/shellCommand: runs a shell command without a sandbox",
		"ok nothing of it was run, and the project was not made a trusted one",
		"ok the bridge's hook kept it in the read-only sandbox of the thread, without a question",
		"16 decisions, none changed",
		"ok resumed: the same thread",
		"ok started, because dynamicToolsChanged",
		"ok 3 messages were gathered",
		"ok the agent did one, and the rule kept it from the other",
		"ok described; the file that the second one was told to write was not",
		"2 requests rewritten, 7 refused",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "\x1b") {
		t.Error("colours, and no terminal")
	}
}

// Without a loopback interface there is no model: that is said at once, with the
// mend, and nothing is left behind.
func TestDemoWithoutLoopback(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	cmd := exec.CommandContext(deadline(t), "unshare", "--map-root-user", "--net", proxyPath, "demo")
	cmd.Env, cmd.Dir = w.env, w.workspace
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v, want status 1", err)
	}
	text := strings.TrimSpace(string(out))
	if strings.Contains(text, "\n") || !strings.HasSuffix(text, "; the demo needs the loopback interface (127.0.0.1)") {
		t.Errorf("it says\n%s", text)
	}
}
