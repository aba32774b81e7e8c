//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// Where no person can be asked, the model reads that, and never that the user has rejected the call. Such clients are
// one that does not know the question, `run` in a pipe, and `exec`.
func TestModelLearnsThatNobodyWasAsked(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\nescalation = \"ask\"\n"
	const asksNobody = "No person was asked about this call: "
	check := func(w *world, how, text, want string) {
		t.Helper()
		if got := w.lastToolOutput(); !strings.Contains(got, want) || strings.Contains(got, "by user") || w.workspaceHasFile("made") || w.hasFile("out") {
			t.Errorf("%s, %s: the model reads %q", how, text, got)
		}
	}
	w := newWorld(t, options{})
	a := w.newUninitializedEditor(true, codexPath, "app-server")
	a.initialize(nil)
	a.turn(a.thread(confined), w.escalates("out"))
	check(w, "Codex alone", "escalated", "approval request failed")
	a.closeAndWait()

	w = newWorld(t, options{config: config, codexConfig: mcpConfig("probe")})
	a = w.newUninitializedEditor(true)
	a.initialize(nil)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	for text, method := range map[string]string{"RUN: touch made": "item/commandExecution/requestApproval", "PATCH: made\nx": "item/fileChange/requestApproval"} {
		a.turn(thread, text)
		check(w, "the bridge's question", text, asksNobody+"this client answers no such questions ("+method+")")
	}
	a.turn(thread, w.escalates("out"))
	check(w, "Codex's question", "escalated", "approval request failed")
	a.closeAndWait()

	for _, step := range []struct{ how, text, want string }{
		{"run", "RUN: touch made", asksNobody + "the client has said that nobody answers there"},
		{"exec", "RUN: touch made", asksNobody + "this client answers no such questions"},
		{"exec", w.escalates("out"), "approval request failed"},
	} {
		args := map[string][]string{"run": {"run", "--session", "s", step.text}, "exec": {"exec", "--skip-git-repo-check", step.text}}[step.how]
		if _, problems, status := w.runShell("", args...); status != 0 {
			t.Errorf("%s: status %d, %s", step.how, status, problems)
		}
		check(w, step.how, step.text, step.want)
	}

	// The log has what exec declines itself, too.
	w.runShell("", "exec", "--skip-git-repo-check", `CALL: mcp__probe/asks {"question":{"message":"delete prod?","requestedSchema":{"type":"object","properties":{}}}}`)
	log, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny")
	for _, method := range []string{"item/commandExecution/requestApproval", "mcpServer/elicitation/request"} {
		found := false
		for line := range strings.Lines(log) {
			found = found || strings.Contains(line, "codex_exec") && strings.Contains(line, `"rule":"approvals.nobody"`) && strings.Contains(line, `this client answers no such questions (`+method+`)`)
		}
		if !found {
			t.Errorf("the log is without what exec has declined of %s:\n%s", method, log)
		}
	}
}
