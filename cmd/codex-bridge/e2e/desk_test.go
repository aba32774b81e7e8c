//go:build linux

package e2e_test

import (
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// deskConfig needs a second person for mkdir: grace, since the runner never counts.
func deskConfig(runner, grace, timeout string) string {
	return fmt.Sprintf(`
[policy]
mode = "enforce"
approval = ["on-request", "untrusted", "never"]
sandbox = "workspace-write"
escalation = "ask"
[[policy.rule]]
command = "mkdir **"
decision = "ask"
reason = "Folders are for two."
approvers = "release"
[approvals.desk]
runner = [%q]
timeout = %q
[approvals.desk.groups.release]
keys = [%[1]q, %[3]q]
`, runner, timeout, grace)
}

// sshKey writes a private key into the folder of the world, and returns its public line.
func sshKey(t *testing.T, folder, name string) (public, file string) {
	t.Helper()
	pub, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, name)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(folder, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + " " + name, file
}

// waiting returns the requests that wait for a second person.
func (w *world) waiting() (all []struct{ ID, Command, Thread, Item string }) {
	w.t.Helper()
	out, stderr, code := w.runCommand("approvals", "list", "--json")
	if code != 0 || json.Unmarshal([]byte(out), &all) != nil {
		w.t.Fatalf("approvals list: %d, %s%s", code, out, stderr)
	}
	return all
}

// answerDesk answers the next request with a key, and returns what the command prints.
func (a *acceptingEditor) answerDesk(decision, key string) string {
	a.t.Helper()
	a.waitUntil("a request for a second person", func() bool { return len(a.waiting()) == 1 })
	out, stderr, _ := a.runCommand("approvals", "answer", a.waiting()[0].ID, decision, "--key", key)
	return out + stderr
}

// signElsewhere approves the next request as an approver does whose key another program holds.
func (a *acceptingEditor) signElsewhere(key string) {
	a.t.Helper()
	a.waitUntil("a request for a second person", func() bool { return len(a.waiting()) == 1 })
	id := a.waiting()[0].ID
	shown, _, _ := a.runCommand("approvals", "show", id, "--approve", "--json")
	var approval struct{ ID, Decision, Text string }
	if err := json.Unmarshal([]byte(shown), &approval); err != nil || approval.ID != id || approval.Decision != "approve" {
		a.t.Fatalf("approvals show: %v, %s", err, shown)
	}
	statement, _, _ := a.runCommand("approvals", "show", id, "--approve")
	if statement != approval.Text {
		a.t.Errorf("approvals show prints %q, and as JSON %q", statement, approval.Text)
	}
	text, err := os.ReadFile(key)
	if err != nil {
		a.t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		a.t.Fatal(err)
	}
	sig, err := sshsig.Sign(strings.NewReader(statement), signer, sshsig.HashSHA512, "codex-bridge-approval")
	if err == nil {
		err = os.WriteFile(key+".sig", sshsig.Armor(sig), 0o600)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	if out, stderr, code := a.runCommand("approvals", "answer", id, "--decline", "--signature", key+".sig"); code != 1 || !strings.Contains(stderr, "the answer would not count") {
		a.t.Errorf("a signature of another decision: status %d, %s%s", code, out, stderr)
	}
	if out, stderr, code := a.runCommand("approvals", "answer", id, "--approve", "--signature", key+".sig", "--json"); code != 0 || !strings.Contains(out, `"decision": "approve"`) || !strings.Contains(out, `"id": "`+id) {
		a.t.Errorf("%s%s", out, stderr)
	}
}

// A rule can need two of a group. The first approval starts nothing, and its approver's second one neither.
func TestTwoApprovers(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	runner, _ := sshKey(t, keys, "runner")
	grace, graceKey := sshKey(t, keys, "grace")
	ada, adaKey := sshKey(t, keys, "ada")
	config := strings.Replace(deskConfig(runner, grace, "5m"), `approvers = "release"`, "approvers = \"release\"\napprover_count = 2", 1)
	w := newWorld(t, options{config: strings.Replace(config, "keys = [", fmt.Sprintf("keys = [%q, ", ada), 1)})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, "RUN: mkdir made")
	for range 2 {
		if out := a.answerDesk("--approve", graceKey); !strings.Contains(out, "signed; approved by release: SHA256:") || !strings.Contains(out, ` (grace); still missing: release: "mkdir made"`) {
			t.Errorf("the first approver sees %s", out)
		}
	}
	id := a.waiting()[0].ID
	out, _, _ := w.runCommand("approvals", "list")
	for _, line := range []string{"request   " + id + "\n", `command   "mkdir made"` + "\n", "needs     2 of release\n", " (grace)\n", "missing   release\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("the list has no %q:\n%s", line, out)
		}
	}
	a.checkAbsent("made")
	a.answerDesk("--approve", adaKey)
	a.waitTurn(thread, turn, mark)
	a.checkPresent("made")
	if log, _, _ := w.runCommand("decisions", "list", "--json"); strings.Count(log, "approved by release: SHA256:") != 1 || !strings.Contains(log, " (grace) and SHA256:") || !strings.Contains(log, " (ada); request "+id) {
		t.Errorf("the log has %s", log)
	}
	a.closeAndWait()
}

// The rules of the moment count also after an approval: those that need one more person meanwhile get it.
func TestSecondApproverIsNeededMeanwhile(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	runner, _ := sshKey(t, keys, "runner")
	grace, graceKey := sshKey(t, keys, "grace")
	ada, adaKey := sshKey(t, keys, "ada")
	one := strings.Replace(deskConfig(runner, grace, "5m"), "keys = [", fmt.Sprintf("keys = [%q, ", ada), 1)
	a := newWorld(t, options{config: one}).newUninitializedEditor(false, proxyArgv...)
	a.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, "RUN: mkdir made")
	a.waitUntil("a request for a second person", func() bool { return len(a.waiting()) == 1 })
	first := a.waiting()[0].ID
	reloaded := a.Mark()
	a.write("config.toml", strings.Replace(one, `approvers = "release"`, "approvers = \"release\"\napprover_count = 2", 1))
	a.waitFor(reloaded, "bridge/config/changed", func(m editor.Message) bool { return m.Param("error") == "" })
	a.answerDesk("--approve", graceKey)
	a.waitUntil("a request for two people", func() bool {
		all := a.waiting()
		return len(all) == 1 && all[0].ID != first
	})
	a.checkAbsent("made")
	a.answerDesk("--approve", graceKey)
	a.answerDesk("--approve", adaKey)
	a.waitTurn(thread, turn, mark)
	a.checkPresent("made")
	a.closeAndWait()
}

// A command of a rule with approvers waits for the client and for a second person, never the one who runs
// the bridge. Without a rule it needs neither.
func TestSecondPersonApproves(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	runner, runnerKey := sshKey(t, keys, "runner")
	grace, graceKey := sshKey(t, keys, "grace")
	_, strangerKey := sshKey(t, keys, "stranger")
	w := newWorld(t, options{config: deskConfig(runner, grace, "5m")})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})

	if asked := a.turn(thread, "RUN: echo > control"); len(asked) > 0 {
		t.Errorf("without the rule: questions %q", asked)
	}
	a.checkPresent("control")

	turn, mark := a.startTurn(thread, "RUN: mkdir made")
	if out := a.answerDesk("--approve", runnerKey); !strings.Contains(out, "can't be the second person") {
		t.Errorf("the runner approves: %s", out)
	}
	a.answerDesk("--decline", strangerKey) // counts for nothing
	if a.checkAbsent("made"); a.questions() != 1 {
		t.Errorf("%d questions", a.questions())
	}
	if out := a.answerDesk("--approve", graceKey); !strings.Contains(out, `(grace); the bridge lets the command run: "mkdir made"`) {
		t.Errorf("the approver sees %s", out)
	}
	a.waitTurn(thread, turn, mark)
	a.checkPresent("made")
	if log, _, _ := w.runCommand("decisions", "list", "--json"); !strings.Contains(log, "approved by release: SHA256:") {
		t.Errorf("the log has %s", log)
	}

	turn, mark = a.startTurn(thread, "RUN: mkdir declined")
	a.answerDesk("--approve", strangerKey)
	a.answerDesk("--decline", graceKey)
	a.waitTurn(thread, turn, mark)
	if a.checkAbsent("declined"); !strings.Contains(w.lastToolOutput(), "has declined") {
		t.Errorf("the model got %q", w.lastToolOutput())
	}

	// Outside the sandbox Codex asks the client itself, after the second person.
	turn, mark = a.startTurn(thread, fmt.Sprintf(`CALL: exec_command {"cmd":"mkdir %s","sandbox_permissions":"require_escalated"}`, filepath.Join(w.root, "outside")))
	a.signElsewhere(graceKey)
	a.waitTurn(thread, turn, mark)
	if !w.hasFile("outside") {
		t.Errorf("the approved command did not run; the model got %q", w.lastToolOutput())
	}
	a.closeAndWait()
	if len(w.waiting()) > 0 {
		t.Errorf("left: %v", w.waiting())
	}

	// After kill -9 of the bridge, the request stays in the list, and nothing runs the command.
	a = w.newAcceptingEditor(proxyArgv...)
	a.startTurn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "RUN: mkdir orphan")
	a.waitUntil("a request for a second person", func() bool { return len(a.waiting()) == 1 })
	if err := a.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Exit(a.ctx); err != nil {
		t.Fatal(err)
	}
	if out := a.answerDesk("--approve", graceKey); !strings.Contains(out, "has not taken the answer") || strings.Contains(out, "lets the command run") {
		t.Errorf("the approver sees %s", out)
	}
	a.checkAbsent("orphan")
}

// Without an answer in time a command does not run, nor if the client refuses, nor on a thread on which
// the bridge can't ask.
func TestSecondPersonIsSilent(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	runner, _ := sshKey(t, keys, "runner")
	grace, _ := sshKey(t, keys, "grace")
	w := newWorld(t, options{config: deskConfig(runner, grace, "1s")})
	a := w.newAcceptingEditor(proxyArgv...)
	for policy, output := range map[string]string{"on-request": "no approver has answered in time", "untrusted": "no approver has answered in time", "never": "the rule wants a question"} {
		thread := a.thread(map[string]any{"approvalPolicy": policy, "sandbox": "workspace-write"})
		a.turn(thread, "RUN: mkdir made")
		if !strings.Contains(w.lastToolOutput(), output) {
			t.Errorf("%s: the model got %q", policy, w.lastToolOutput())
		}
	}
	a.closeAndWait()
	a.checkAbsent("made")
}
