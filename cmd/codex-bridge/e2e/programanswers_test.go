//go:build linux && !portable

package e2e_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// The answer to a question about a program counts as long as the same rules ask: after a reload with another rule the
// person is asked again, and an answer that comes after the reload does not count.
func TestProgramAfterReload(t *testing.T) {
	t.Parallel()
	asking := strings.Replace(programRules, `"deny"`, `"ask"`, 1)
	const before, after = "Nothing is touched here", "Another rule"
	for name, during := range map[string]bool{"between two starts": false, "during the question": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := programWorld(t, asking)
			w.write("workspace/twice.sh", "/usr/bin/touch out && echo first; while [ ! -e go ]; do sleep 0.05; done; /usr/bin/touch out && echo second")
			r := w.newUninitializedDecliningEditor(proxyArgv...)
			r.initializeWithBridge()
			thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			reload := func() {
				from := r.Mark()
				w.write("config.toml", strings.Replace(asking, before, after, 1)+withLongGrace(asking))
				if _, err := r.Wait(r.ctx, from, func(m editor.Message) bool { return m.Method == "bridge/config/changed" }); err != nil {
					t.Error(err)
				}
				w.write("workspace/go", "")
			}
			r.answer = func(editor.Message) any {
				if during && len(r.asked) == 1 {
					reload()
				}
				return decision("accept")
			}
			turn, mark := r.startTurn(thread, `CALL: exec_command {"cmd":"sh twice.sh","yield_time_ms":30000}`)
			if !during {
				r.waitFor(mark, "item/commandExecution/requestApproval", nil)
				w.awaitFile("workspace/out")
				reload()
			}
			r.waitTurn(thread, turn, mark)
			var reasons []string
			for _, m := range r.asked {
				reasons = append(reasons, m.Param("reason"))
			}
			if len(reasons) != 2 || !strings.Contains(reasons[0], before) || !strings.Contains(reasons[1], after) {
				t.Errorf("%d questions: %q", len(reasons), reasons)
			}
			if out := w.lastToolOutput(); strings.Contains(out, "first") == during || !strings.Contains(out, "second") {
				t.Errorf("the model got %q", out)
			}
			r.closeAndWait()
		})
	}
}

// awaitFile waits until a file exists.
func (w *world) awaitFile(name string) {
	w.t.Helper()
	for ctx := deadline(w.t); !w.hasFile(name); {
		select {
		case <-ctx.Done():
			w.t.Fatalf("there is no %s", name)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A policy that asks for the supervision of programs after Codex has started has no such effect. The user reads that: when
// it comes with a reload, and when a thread opens in a folder whose policy file asks for it.
func TestLateSupervisionIsTold(t *testing.T) {
	t.Parallel()
	const told = "and not where programs start"
	config := strings.Replace(programRules, "[policy]\n", "[policy]\nescalation = \"ask\"\n", 1)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	isTold := func(m editor.Message) bool { return strings.Contains(m.Param("summary"), told) }
	for name, test := range map[string]func(w *world, r *decliningEditor){
		"reload": func(w *world, r *decliningEditor) {
			r.thread(settings)
			w.write("config.toml", strings.Replace(config, "[policy]\n", "[policy]\nexec_rules = \"on\"\n", 1)+withLongGrace(config))
			r.waitFor(0, "configWarning", isTold)
			if status := string(r.must("bridge/status", map[string]any{})); !strings.Contains(status, `"supervised":false,"wanted":true}`) {
				t.Errorf("bridge/status is %s", status)
			}
		},
		"folder": func(w *world, r *decliningEditor) {
			r.thread(settings)
			w.repositoryIn("other")
			w.write("other/.codex-bridge.toml", "[policy]\nexec_rules = \"on\"\n")
			if slices.ContainsFunc(r.Messages(), isTold) {
				t.Error("told too early")
			}
			other := maps.Clone(settings)
			other["cwd"] = filepath.Join(w.root, "other")
			r.must("thread/start", other)
			r.waitFor(0, "configWarning", isTold)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := programWorld(t, config)
			r := w.newUninitializedDecliningEditor(proxyArgv...)
			r.initializeWithBridge()
			test(w, r)
			r.closeAndWait()
		})
	}
}
