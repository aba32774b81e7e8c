//go:build linux

package e2e_test

import "testing"

// A remembered answer to a question about a command does not count for the same command with a terminal, into which
// the model can type later: neither where the bridge asks, nor where Codex does, which does not say so.
func TestAnswerDoesNotCountForTerminal(t *testing.T) {
	t.Parallel()
	const plain, terminal = `CALL: exec_command {"cmd":"echo out"}`, `CALL: exec_command {"cmd":"echo out","tty":true}`
	for approval, questions := range map[string][]int{"untrusted": {1, 0, 1, 0, 0}, "on-request": {0, 0, 1, 1, 0}} {
		w := newWorld(t, options{config: "[policy]\napproval = [\"untrusted\", \"on-request\"]\n[approvals]\nremember = \"always\"\n"})
		if approval == "on-request" { // Codex asks, and offers no answer for longer
			w.write("home/rules/default.rules", "prefix_rule(pattern=[\"echo\"], decision=\"prompt\")\n")
			w.addGrant("echo out")
		}
		a := w.newAcceptingEditor(proxyArgv...)
		thread := a.thread(map[string]any{"approvalPolicy": approval, "sandbox": "read-only"})
		for i, text := range []string{plain, plain, terminal, terminal, plain} {
			if asked := a.turn(thread, text); len(asked) != questions[i] {
				t.Errorf("%s: %d, %s: the questions %q, want %d", approval, i, text, asked, questions[i])
			}
		}
		a.closeAndWait()
	}
}
