//go:build linux && !portable

package e2e_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

// waitingProgram starts a script whose program waits for an answer of the person, and returns when the client has the
// question.
func (c *conversation) waitingProgram(sandbox string) (thread, turn string, mark int) {
	c.t.Helper()
	thread = c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": sandbox})
	turn, mark = c.startTurn(thread, `CALL: exec_command {"cmd":"./deploy.sh","yield_time_ms":30000}`)
	if asked := c.waitFor(mark, commandApproval, nil); asked.Param("command") != "/usr/bin/touch "+filepath.Join(c.workspace, "out") {
		c.t.Fatalf("the question is about %q", asked.Param("command"))
	}
	return thread, turn, mark
}

// A program that waits for an answer does not start when the client leaves, or when the bridge or Codex is killed. All
// processes end.
func TestClientLeavesWhileProgramWaits(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*conversation) error{
		"end of input":  func(c *conversation) error { c.closeAndWait(); return nil },
		"killed bridge": func(c *conversation) error { return c.Process.Kill() },
		"killed codex":  func(c *conversation) error { return syscall.Kill(c.codexPID(), syscall.SIGKILL) },
	} {
		for _, sandbox := range []string{"workspace-write", "danger-full-access"} {
			t.Run(name+" "+sandbox, func(t *testing.T) {
				t.Parallel()
				w := programWorld(t, strings.NewReplacer(`"deny"`, `"ask"`, `"workspace-write"`, `"`+sandbox+`"`).Replace(programRules))
				c := w.open(proxyArgv...)
				c.initialize(nil)
				c.waitingProgram(sandbox)
				if err := end(c); err != nil {
					t.Fatal(err)
				}
				if left := w.waitProcesses(noProcesses); len(left) > 0 {
					t.Errorf("still running:%s", describe(left))
				}
				if w.attackWorked() {
					t.Error("the program ran")
				}
			})
		}
	}
}

// A program that waits for an answer does not start when the last client that could answer leaves a shared Codex, which
// goes on.
func TestClientOfSharedCodexLeavesWhileProgramWaits(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(programRules, `"deny"`, `"ask"`, 1)+"[serve]\nmode = \"require\"\nanswer = \"starter\"\nidle = \"5m\"\n")
	w.writeDeploy()
	a, b := w.joined(), w.joined()
	a.waitingProgram("workspace-write")
	a.Close(5 * time.Second)
	const told = "codex-bridge refused to start these programs"
	if _, err := w.model.Await(b.ctx, func(q scripted.Request) bool { return strings.Contains(string(q.Body), told) }); err != nil {
		t.Error(err)
	}
	if w.attackWorked() {
		t.Error("the program ran")
	}
	b.runTurn(b.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "SAY: hello")
}

// A question about a program that gets no answer ends with approvals.timeout. The program does not start, the rest of the
// script goes on, and an answer that comes later has no effect.
func TestProgramWithoutAnswer(t *testing.T) {
	t.Parallel()
	w := programWorld(t, strings.Replace(programRules, `"deny"`, `"ask"`, 1)+"[approvals]\ntimeout = \"1s\"\n")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread, turn, mark := c.waitingProgram("workspace-write")
	question := c.waitFor(mark, commandApproval, nil)
	c.waitResolved(question)
	c.accept(question)
	c.waitTurn(thread, turn, mark)
	if out := w.lastToolOutput(); w.attackWorked() || !strings.Contains(out, "Operation not permitted") || !strings.Contains(out, "deployed") {
		t.Errorf("the model got %q", out)
	}
	const told = "no answer came within 1s"
	if _, err := w.model.Await(c.ctx, func(q scripted.Request) bool { return strings.Contains(string(q.Body), told) }); err != nil {
		t.Errorf("the model was not told why: %v", err)
	}
	c.closeAndWait()
	if log := w.bridgeCommand("decisions", "list", "--verdict", "deny"); strings.Count(log, "approvals.timeout") != 1 {
		t.Errorf("the log has\n%s", log)
	}
}
