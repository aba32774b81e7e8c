//go:build linux

package e2e_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/internal/editor"
)

// lockLog locks the decision log, as a process does that hangs, and returns the function that ends that.
func (w *world) lockLog() (unlock func()) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.root, "state", store.DatabaseFile)+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			w.t.Error(err)
		}
		if err := db.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// While the log is locked, refusals are given, and are in the log afterwards, in order. A message that
// needs its entry is refused, and only it waits: requests that pass go on.
func TestLockedLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"read-only\"\napproval = [\"on-request\"]\n"})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}
	one, other := c.thread(settings), c.thread(settings)
	if err := c.mustFail("process/spawn", map[string]any{"command": []string{"true"}, "processHandle": "p", "cwd": w.workspace}); err.Code != -32010 { // opens the log
		t.Fatal(err)
	}

	unlock := w.lockLog()
	mark := c.Mark()
	send := func(id, method string, params map[string]any) {
		t.Helper()
		if err := c.Send([]byte(marshal(t, map[string]any{"id": id, "method": method, "params": params}))); err != nil {
			t.Fatal(err)
		}
	}
	// Both are changed, so they need the log.
	send("turn", "turn/start", map[string]any{"threadId": one, "input": []any{}, "sandboxPolicy": map[string]any{"type": "dangerFullAccess"}})
	send("exec", "command/exec", map[string]any{"command": []string{"true"}, "sandboxPolicy": map[string]any{"type": "dangerFullAccess"}})
	const refused = 5
	for n := range refused {
		send(fmt.Sprint("read", n), "thread/read", map[string]any{"threadId": other})
		send(fmt.Sprint("model", n), "model/list", map[string]any{})
		send(fmt.Sprint("shell", n), "thread/shellCommand", map[string]any{"threadId": other, "command": fmt.Sprint("true ", n)})
	}
	order := make(map[string]int)
	for len(order) < 2+3*refused {
		m, err := c.Wait(c.ctx, mark, func(m editor.Message) bool { return !m.Sent && m.Method == "" && m.ID != nil })
		if err != nil {
			t.Fatal(err)
		}
		mark = m.Index + 1
		id := strings.Trim(string(m.ID), `"`)
		order[id] = len(order)
		if needs := id == "turn" || id == "exec"; (needs || strings.HasPrefix(id, "shell")) != (m.Error != nil) || needs && !strings.Contains(m.Error.Message, "decision log") {
			t.Errorf("%s", m.Raw)
		}
	}
	for id, at := range order {
		if at > min(order["turn"], order["exec"]) && id != "turn" && id != "exec" {
			t.Errorf("%s waited for a message that needs the log: %v", id, order)
		}
	}
	unlock()
	c.closeAndWait()

	log, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny")
	last := -1
	for n := range refused {
		at := strings.Index(log, fmt.Sprintf("%x", sha256.Sum256([]byte(marshal(t, map[string]any{
			"id": fmt.Sprint("shell", n), "method": "thread/shellCommand", "params": map[string]any{"threadId": other, "command": fmt.Sprint("true ", n)},
		})))))
		if at < last || at < 0 {
			t.Errorf("refusal %d is at %d, the one before at %d", n, at, last)
		}
		last = at
	}
	if strings.Count(log, `"rule":"store"`) != 2 {
		t.Errorf("the log has\n%s", log)
	}
	if out, problems, status := w.runCommand("decisions", "verify"); status != 0 {
		t.Errorf("status %d\n%s%s", status, out, problems)
	}
}

// A log that stays locked keeps the bridge from ending neither for decisions nor for sessions and transcripts.
// TestEndingLeavesTimeForState has the time that they share.
func TestLockedLogDoesNotKeepTheBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"read-only\"\n[transcript]\nenabled = true\n"})
	c := w.open(proxyArgv...).initializeWithBridge()
	c.must("bridge/turn/run", map[string]any{"sessionKey": "s", "input": "SAY: one"}) // holds a session
	unlock := w.lockLog()
	c.must("bridge/turn/run", map[string]any{"sessionKey": "s", "input": "SAY: two"}) // for the transcript
	if err := c.mustFail("process/spawn", map[string]any{"command": []string{"true"}, "processHandle": "p", "cwd": w.workspace}); err.Code != -32010 {
		t.Fatal(err)
	}
	c.closeAndWait()
	unlock()
}

// deafAgent speaks just enough of ACP to run, and ignores the end of its input and signals to end.
const deafAgent = `trap '' TERM INT HUP
answer() {
	read -r line
	id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}
answer '{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}'
answer '{"sessionId":"deaf"}'
while :; do sleep 1; done
`

// An agent that ignores its end is killed after a time in which the log and the transcript lose nothing: they get
// their own time afterwards.
func TestAgentThatIgnoresItsEndCostsNoRecord(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "deaf.sh")
	if err := os.WriteFile(script, []byte(deafAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{config: fmt.Sprintf("[policy]\nsandbox = \"read-only\"\n[transcript]\nenabled = true\n[acp.agents.deaf]\ncommand = [\"/bin/sh\", %q]\n", script)})
	c := w.open(proxyArgv...).initializeWithBridge()
	c.must("bridge/turn/run", map[string]any{"sessionKey": "s", "input": "SAY: one"})
	c.spawn(map[string]any{"task": "x", "agentId": "deaf"})
	unlock := w.lockLog()
	c.must("bridge/turn/run", map[string]any{"sessionKey": "s", "input": "SAY: farewell"})
	if err := c.mustFail("process/spawn", map[string]any{"command": []string{"true"}, "processHandle": "p", "cwd": w.workspace}); err.Code != -32010 {
		t.Fatal(err)
	}
	if len(w.processesOf("/bin/sh", script)) == 0 {
		t.Fatal("the agent does not run")
	}
	c.CloseInput()
	for len(w.processesOf("/bin/sh", script)) > 0 && c.ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second) // a part of the time that the state has
	unlock()
	if _, err := c.Exit(c.ctx); err != nil {
		t.Fatal(err)
	}
	if log, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny"); !strings.Contains(log, "process/spawn") {
		t.Errorf("the refusal is not in the log:\n%s", log)
	}
	if found, _, _ := w.runCommand("history", "search", "farewell"); !strings.Contains(found, "farewell") {
		t.Errorf("the last turn is not in the transcript: %q", found)
	}
}
