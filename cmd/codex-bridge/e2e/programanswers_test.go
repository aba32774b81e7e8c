//go:build linux && !portable

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// escalatingRules ask about a program, and let commands leave the sandbox if a person accepts that.
var escalatingRules = strings.NewReplacer(`"deny"`, `"ask"`, "[policy]\n", "[policy]\nexec_rules = \"on\"\nescalation = \"ask\"\n").Replace(programRules)

// The person accepts a line in Codex's question, which shows the reason of the rule. The program that the line names
// then starts without another question; others are asked about.
func TestProgramOfAcceptedEscalation(t *testing.T) {
	t.Parallel()
	w := programWorld(t, escalatingRules)
	r := w.newDecliningEditor(proxyArgv...)
	out := filepath.Join(w.workspace, "out")
	for _, test := range []struct {
		name, line string
		answers    []string // of the person, in order
		ran        bool
	}{
		{"declined", "touch " + out, []string{"decline"}, false},
		{"accepted", "touch " + out, []string{"accept"}, true},
		{"accepted for the session", "touch " + out, []string{"acceptForSession"}, true},
		{"after that", "touch " + out, []string{"decline"}, false},
		{"in a script", "./deploy.sh", []string{"accept", "accept"}, true},
		{"in a script, declined", "./deploy.sh", []string{"accept", "decline"}, false},
		{"a word is not known", "f=" + out + "; touch $f", []string{"accept", "decline"}, false},
		{"other words in a script", "touch new; ./deploy.sh", []string{"accept", "decline"}, false},
	} {
		thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		next := 0
		r.answer = func(editor.Message) any {
			next++
			return decision(test.answers[min(next, len(test.answers))-1])
		}
		reasons := r.runLine(thread, test.line, map[string]any{"sandbox_permissions": "require_escalated"})
		if len(reasons) != len(test.answers) {
			t.Errorf("%s: %d questions: %q; the model got %q", test.name, len(reasons), reasons, w.lastToolOutput())
		}
		if strings.HasPrefix(test.line, "touch ") && (len(reasons) == 0 || !strings.Contains(reasons[0], "leaves the sandbox") || !strings.Contains(reasons[0], "Nothing is touched here")) {
			t.Errorf("%s: the person reads %q", test.name, reasons)
		}
		if ran := w.attackWorked(); ran != test.ran {
			t.Errorf("%s: the program ran: %v; the model got %q", test.name, ran, w.lastToolOutput())
		}
	}
	r.closeAndWait()
}
