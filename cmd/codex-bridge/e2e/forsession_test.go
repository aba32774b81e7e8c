//go:build linux

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// "For this session", which clients answer also where Codex does not offer it, counts once for a command
// outside the sandbox, as a plain consent with Codex alone. The client is told so, and is not offered the
// amendment of the user's rules, which Codex offers.
func TestConsentForSessionCountsOnce(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{{codexPath, "app-server"}, proxyArgv} {
		bridged := argv[0] != codexPath
		w := newWorld(t, options{config: neverConfig})
		c := w.openAnswering("acceptForSession", argv...)
		c.initialize(nil)
		thread := c.thread(confined)
		mark := len(c.Messages())
		for _, name := range []string{"first", "second"} {
			turn, at := c.startTurn(thread, w.escalates(name))
			c.waitTurn(thread, turn, at)
			if !w.hasFile(name) {
				t.Errorf("%s: the %s command did not run; the model got %q", argv[0], name, w.lastToolOutput())
			}
		}
		warned := 0
		for _, m := range c.Messages()[mark:] {
			if isOnceWarning(m) {
				warned++
			}
			if m.Method != commandApproval {
				continue
			}
			if offer := editor.Member(m.Params, "availableDecisions") + editor.Member(m.Params, "proposedExecpolicyAmendment"); (offer == `["accept","cancel"]`) != bridged {
				t.Errorf("%s: the client is offered %s", argv[0], offer)
			}
		}
		if want := map[bool]int{true: 1}[bridged]; warned != want {
			t.Errorf("%s: %d warnings, want %d", argv[0], warned, want)
		}
		c.closeAndWait()
		if log, _, _ := w.runCommand("decisions", "list"); strings.Contains(log, "params.availableDecisions") != bridged {
			t.Errorf("%s: the decision log is\n%s", argv[0], log)
		}
	}
}

func isOnceWarning(m editor.Message) bool {
	return m.Method == "configWarning" && strings.Contains(string(m.Params), "has let this run once")
}

// A user of codex-acp and of Codex's terminal interface is offered only answers that count as they say. Both offer
// one for all later patches regardless of the question; then they show that it counts once.
func TestClientsOfferOnlyKeptAnswers(t *testing.T) {
	t.Parallel()
	escalate := "ESCALATE: touch "
	for _, program := range []string{codexPath, proxyPath} {
		w := newWorld(t, options{config: neverConfig})
		outside := filepath.Join(w.root, "outside")
		lines := strings.Join(w.acp(program, "read-only", "allow_once", escalate+outside), "\n")
		if offers := strings.Contains(lines, "allow_always"); offers != (program == codexPath) {
			t.Errorf("%s: codex-acp shows\n%s", program, lines)
		}
		if program == codexPath {
			continue
		}
		lines = strings.Join(w.acp(program, "read-only", "allow_always", "PATCH: "+outside+"\nx"), "\n")
		if !strings.Contains(lines, "has let this run once") || !w.hasFile("outside") {
			t.Errorf("codex-acp shows\n%s", lines)
		}
	}
	w := newWorld(t, options{config: neverConfig, codexConfig: terminalConfig, codex: codexPath})
	w.trustWorkspace()
	for prompt, offers := range map[string]bool{escalate + filepath.Join(w.root, "by-tui"): false, "PATCH: " + filepath.Join(w.root, "by-tui") + "\nx": true} {
		u := w.startTUI() // one that has shown a question draws only what differs in the next one
		u.waitUntil("the first thread", func() bool { return strings.Contains(u.text(), "OpenAI Codex") })
		_, mark := u.mark()
		u.says(prompt)
		shown := strings.Join(strings.Fields(visible(u.text()[mark:])), " ")
		if !strings.Contains(shown, "Would you like to") || strings.Contains(shown, "ask again") != offers {
			t.Errorf("the terminal interface shows\n%s", shown)
		}
	}
}
