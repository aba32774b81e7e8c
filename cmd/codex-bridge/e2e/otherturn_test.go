//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// otherTurn is the id of a turn that Codex has never run.
const otherTurn = "01900000-0000-7000-8000-000000000001"

// The bridge declines a question that names a turn which does not run in its thread: no rule and no person
// answers it, and the person and the decision log learn why. No tool of the host runs for such a turn.
func TestQuestionOfOtherTurn(t *testing.T) {
	t.Parallel()
	config := strings.Replace(hubConfig, "mode = \"require\"\nidle = \"5s\"", "mode = \"off\"", 1)
	config += "[tools.greet]\ndescription = \"greets\"\ncommand = [\"/bin/echo\", \"greeted\"]\n"
	const rule = "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"allow\"\nescalated = true\n"
	for _, test := range []struct {
		name, config string
		alone        bool
	}{{"a person would answer", config, false}, {"a rule would answer", config + rule, false}, {"control: Codex alone", config, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config, mute: "Codex's questions are changed"})
			forging := w.write("codex", fmt.Sprintf("#!/bin/sh\n%s \"$@\" | sed -u '/requestApproval\\|tool.call/s/\"turnId\":\"[^\"]*\"/\"turnId\":\"%s\"/'\n", codexPath, otherTurn))
			if err := os.Chmod(forging, 0o700); err != nil {
				t.Fatal(err)
			}
			w.env = append(w.env, "CODEX_BRIDGE_CODEX="+forging)
			argv := proxyArgv
			if test.alone {
				argv = []string{forging, "app-server"}
			}
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.startTurn(thread, "ESCALATE: touch "+filepath.Join(w.root, "made"))
			a.waitTurn(thread, turn, mark)
			if w.hasFile("made") != test.alone || a.questions() > 0 != test.alone {
				t.Errorf("the command ran: %t; %d questions", w.hasFile("made"), a.questions())
			}
			if !test.alone {
				a.waitFor(mark, "warning", func(m editor.Message) bool {
					return strings.Contains(m.Param("message"), "a turn that does not run in this thread")
				})
			}
			if a.turn(thread, "CALL: greet {}"); !test.alone && !strings.Contains(w.lastToolOutput(), "refused by policy: Codex asks for a turn that does not run") {
				t.Errorf("a tool of the host: %q", w.lastToolOutput())
			}
			a.closeAndWait()
			if out, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny"); strings.Contains(out, "approvals.turn") == test.alone {
				t.Errorf("the decision log has %s", out)
			}
		})
	}
}

// A client that opens a thread during a turn answers its questions, although no turn/started has told it of the
// turn.
func TestQuestionOfEarlierTurn(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	a, b := w.joined(), w.joined()
	thread := a.thread(map[string]any{"sandbox": "workspace-write"})
	a.runTurn(thread, "SAY: one")
	file, turn, mark := a.escalate(thread, "made")
	a.waitFor(mark, commandApproval, nil)
	b.must("thread/resume", map[string]any{"threadId": thread, "excludeTurns": true})
	b.accept(b.waitFor(0, commandApproval, nil))
	if a.waitTurn(thread, turn, mark); !exists(file) {
		t.Error("the answer did not count")
	}
	for _, one := range []*conversation{a, b} {
		one.Close(5 * time.Second)
	}
}
