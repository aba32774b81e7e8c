//go:build linux && !portable

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// loggedProgramRules have a rule of each kind. Only the exception and the question need an entry in the decision log.
const loggedProgramRules = `
[policy]
mode = "enforce"
exec_rules = "on"
approval = ["on-request"]
sandbox = "workspace-write"
[[policy.rule]]
command = "touch excepted"
decision = "allow"
ticket = "OPS-7"
[[policy.rule]]
command = "touch **"
decision = "deny"
[[policy.rule]]
command = "mkdir **"
decision = "ask"
`

// While the decision log can't be written, a program starts if its decision needs no entry. An exception and an answer of
// the person do not count, neither for a program nor for a line. Refusals count, and are in the log later.
func TestProgramsWithoutLog(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]map[string]bool{ // the files that are made, without and with a log
		"enforce": {"free": true, "excepted": false, "denied": false, "asked": false},
		"audit":   {"free": true, "excepted": true, "denied": true, "asked": true},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: strings.Replace(loggedProgramRules, "enforce", mode, 1) + "[hooks]\n"})
			w.write("workspace/all.sh", "cp /dev/null free; touch excepted; touch denied; mkdir asked; true")
			r := w.newDecliningEditor(proxyArgv...)
			r.answer = func(editor.Message) any { return decision("accept") }
			thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			made := func(line string) map[string]bool {
				r.runLine(thread, line, nil)
				all := make(map[string]bool)
				for name := range want {
					all[name] = os.Remove(filepath.Join(w.workspace, name)) == nil
				}
				return all
			}
			limit := func(size uint64) {
				t.Helper()
				if err := unix.Prlimit(r.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := made("sh all.sh"); !got["free"] || !got["excepted"] || !got["asked"] || got["denied"] != want["denied"] {
				t.Errorf("with a log: %v; the model got %q", got, w.lastToolOutput())
			}
			info, err := os.Stat(filepath.Join(w.state, store.DatabaseFile+"-wal"))
			if err != nil {
				t.Fatal(err)
			}
			limit(uint64(info.Size()))
			for _, lines := range [][]string{{"sh ./all.sh"}, {"cp /dev/null free", "touch excepted", "touch denied", "mkdir asked"}} {
				got := make(map[string]bool)
				for _, line := range lines {
					for name, is := range made(line) {
						got[name] = got[name] || is
					}
				}
				for name := range want {
					if got[name] != want[name] {
						t.Errorf("%q: made %s: %v; the model got %q", lines, name, got[name], w.lastToolOutput())
					}
				}
			}
			limit(unix.RLIM_INFINITY)
			r.closeAndWait()
			if log := w.bridgeCommand("decisions", "list", "--verdict", "deny"); strings.Count(log, "program/start") < 2 {
				t.Errorf("the log has\n%s", log)
			}
			w.bridgeCommand("decisions", "verify")
		})
	}
}

// The log has many refused programs of a call one by one, and then their number.
func TestManyRefusedProgramsAreLogged(t *testing.T) {
	t.Parallel()
	w := programWorld(t, programRules)
	w.write("workspace/many.sh", "for n in $(seq 300); do /usr/bin/touch $n; done; echo all")
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	if r.runLine(thread, "sh many.sh", map[string]any{"yield_time_ms": 30000}); !strings.Contains(w.lastToolOutput(), "all") {
		t.Errorf("the model got %q", w.lastToolOutput())
	}
	r.closeAndWait()
	log := w.bridgeCommand("decisions", "list", "--json", "--limit", "1000")
	if n := strings.Count(log, `"program/start"`); n != 257 || !strings.Contains(log, "44 more starts of refused programs") {
		t.Errorf("the log has %d programs", n)
	}
}

// While too many programs wait for an answer, others do not start. The user and the model read why, and the log has the
// first of them and their number.
func TestTooManyProgramsWait(t *testing.T) {
	t.Parallel()
	w := programWorld(t, strings.Replace(programRules, `"deny"`, `"ask"`, 1))
	w.write("workspace/many.sh", "for n in $(seq 100); do for f in a b c d; do /usr/bin/touch $f & done; done; wait; echo all")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := c.startTurn(thread, `CALL: exec_command {"cmd":"sh many.sh","yield_time_ms":30000}`)
	const why = "too many other programs wait"
	c.waitFor(mark, "warning", func(m editor.Message) bool { return strings.Contains(m.Param("message"), why) })
	answered := make(map[string]bool)
	for from := mark; ; {
		m, err := c.Wait(c.ctx, from, func(m editor.Message) bool {
			return !m.Sent && (m.Method == commandApproval || m.Method == "turn/completed" && m.Param("turn", "id") == turn)
		})
		if err != nil {
			t.Fatal(err)
		}
		if m.Method != commandApproval {
			break
		}
		if from = m.Index + 1; !answered[string(m.ID)] {
			answered[string(m.ID)] = true
			if err := c.Reply(m, decision("accept")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out := w.lastToolOutput(); !strings.Contains(out, "all") || !strings.Contains(out, "not permitted") || !w.hasFile("workspace/a") {
		t.Errorf("the model got %q", out)
	}
	if _, err := w.model.Await(c.ctx, func(q scripted.Request) bool { return strings.Contains(string(q.Body), why) }); err != nil {
		t.Errorf("the model was not told why: %v", err)
	}
	c.closeAndWait()
	if said := c.Stderr(); !strings.Contains(said, "too many programs waited for a decision or an answer") {
		t.Errorf("stderr: %s", said)
	}
	if log := w.bridgeCommand("decisions", "list", "--limit", "0"); strings.Count(log, why) == 0 || strings.Count(log, why) > 4 {
		t.Errorf("the log has\n%s", log)
	}
}

// A simulation computes refused programs and questions about programs again.
func TestProgramsAreSimulated(t *testing.T) {
	t.Parallel()
	asks := "[[policy.rule]]\ncommand = \"mkdir **\"\ndecision = \"ask\"\n"
	w := programWorld(t, programRules+asks)
	w.write("workspace/both.sh", "./deploy.sh; mkdir made; mkdir made again")
	r := w.newDecliningEditor(proxyArgv...)
	r.answer = func(editor.Message) any { return decision("accept") }
	r.runLine(r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "sh both.sh", nil)
	r.closeAndWait()
	candidate := w.write("candidate.toml", strings.Replace(programRules, "touch", "mkdir", 1)+withLongGrace(programRules))
	var report simulated
	if text := w.bridgeCommand("policy", "simulate", "--candidate", candidate, "--json"); json.Unmarshal([]byte(text), &report) != nil {
		t.Fatal(text)
	}
	if report.Recomputed != 4 || len(report.RecordedOtherwise) > 0 || report.Looser != 1 || report.Tighter != 2 {
		t.Errorf("%+v", report)
	}
}
