//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// A call that the bridge can't read is denied, logged, and shown to the user, as each refusal. The
// control is Codex alone, which sends the call to the client. A long patch is read.
func TestUnreadableCallIsLoggedAndShown(t *testing.T) {
	t.Parallel()
	const config = "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\n[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n"
	for _, argv := range [][]string{proxyArgv, {codexPath, "app-server"}} {
		alone := len(argv) > 1 && argv[0] == codexPath
		w := newWorld(t, options{config: config})
		a := w.newAcceptingEditor(argv...)
		thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "dynamicTools": []any{map[string]any{
			"name": "lookup_ticket", "description": "Finds a ticket.", "inputSchema": map[string]any{"type": "object"},
		}}})
		mark := a.Mark()
		a.turn(thread, `CALL: lookup_ticket {"ids":[`+strings.Repeat("0,", 30_000)+`0]}`)
		warned, called := false, false
		for _, m := range a.Messages()[mark:] {
			called = called || m.Method == "item/tool/call"
			warned = warned || m.Method == "warning" && strings.Contains(m.Param("message"), `codex-bridge has refused "lookup_ticket"`)
		}
		if denied := strings.Contains(w.lastToolOutput(), "more than 20000 values; split"); called != alone || warned == alone || denied == alone {
			t.Errorf("%q: called %v, warned %v; the model got %q", argv, called, warned, w.lastToolOutput())
		}
		if alone {
			continue
		}
		if log, _, _ := w.runCommand("decisions", "list", "--json"); strings.Count(log, "more than 20000 values") != 1 || !strings.Contains(log, `"hook/preToolUse"`) {
			t.Errorf("the log has %s", log)
		}
		w.model.Add(scripted.Step{When: "BIG", Reply: scripted.Reply{scripted.AddFile("big", strings.Repeat("a line of a long file\n", 60_000))}})
		if a.turn(thread, "BIG"); !w.hasFile("workspace/big") {
			t.Errorf("a patch of 1.3 MB: the model got %q", w.lastToolOutput())
		}
	}
}
