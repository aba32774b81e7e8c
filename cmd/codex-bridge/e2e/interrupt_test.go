//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// A turn that runs without the bridge's hooks when the policy becomes enforced is interrupted, before the
// model's next call leaves the sandbox. The user reads why, and the thread takes no further turn. So is that of a
// client without a name.
func TestEnforceInterruptsTurn(t *testing.T) {
	t.Parallel()
	const policy = "[policy]\nmode = \"MODE\"\napproval = [\"on-request\"]\nsandbox = \"read-only\"\n"
	for name, mode := range map[string]string{"audit": "audit", "off": "off", "a client without a name": "audit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: strings.Replace(policy, "MODE", mode, 1)})
			a := w.newUninitializedEditor(false)
			if name == mode {
				a.initialize(nil)
			} else {
				a.must("initialize", map[string]any{"clientInfo": map[string]any{"name": " ", "version": ""}, "capabilities": map[string]any{"experimentalApi": true}})
				if err := a.Notify("initialized", nil); err != nil {
					t.Fatal(err)
				}
			}
			thread := a.thread(map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"})
			a.turn(thread, "RUN: touch before")
			if !w.hasFile("workspace/before") {
				t.Fatal("without an enforced policy the command did not run")
			}
			release := make(chan struct{})
			w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{scripted.Paused{Until: release}, scripted.Run("touch after")}})
			turn, mark := a.startTurn(thread, "HOLD")
			w.write("config.toml", strings.Replace(policy, "MODE", "enforce", 1))
			if status := a.waitTurn(thread, turn, mark); status != "interrupted" {
				t.Errorf("the turn is %s", status)
			}
			close(release)
			a.waitFor(mark, "configWarning", func(m editor.Message) bool {
				return strings.Contains(m.Param("summary"), "has interrupted a turn") && strings.Contains(m.Param("details"), thread)
			})
			if err := a.mustFail("turn/start", input(thread, "RUN: touch after")); err.Code != -32013 {
				t.Error(err)
			}
			again := a.thread(map[string]any{"approvalPolicy": "on-request"})
			a.turn(again, "RUN: touch later; echo ran")
			if !strings.Contains(w.lastToolOutput(), "ran") || w.hasFile("workspace/after") || w.hasFile("workspace/later") {
				t.Errorf("after the change: %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// The turns of a shared Codex, too, end when the policy is enforced. A client that looks on sees it.
func TestEnforceInterruptsTurnOfSharedCodex(t *testing.T) {
	t.Parallel()
	enforced := strings.Replace(hubConfig, "[policy]", "[policy]\nmode = \"enforce\"", 1)
	w := newHubWorld(t, strings.Replace(enforced, "enforce", "off", 1))
	a, b := w.joined(), w.joined()
	release := make(chan struct{})
	held := scripted.Reply{scripted.Paused{Until: release}, scripted.Run("touch after")}
	w.model.Add(scripted.Step{When: "HOLD", Reply: held}, scripted.Step{When: "HOLD", Reply: held})
	open := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}
	thread, left := a.thread(open), b.thread(open)
	a.runTurn(thread, "SAY: one") // a thread without a turn can't be resumed
	b.runTurn(left, "SAY: two")
	b.must("thread/resume", map[string]any{"threadId": thread})
	turn, mark := a.startTurn(thread, "HOLD")
	seen := b.Mark()
	a.must("thread/resume", map[string]any{"threadId": left})
	other, began := a.startTurn(left, "HOLD")
	w.write("config.toml", enforced)
	if status := a.waitTurn(thread, turn, mark); status != "interrupted" {
		t.Errorf("the turn is %s", status)
	}
	if status := a.waitTurn(left, other, began); status != "interrupted" {
		t.Errorf("the turn of the other thread is %s", status)
	}
	b.waitFor(seen, "turn/completed", func(m editor.Message) bool {
		return m.Param("turn", "id") == turn && m.Param("turn", "status") == "interrupted"
	})
	close(release)
	if err := a.mustFail("turn/start", input(thread, "RUN: touch after")); err.Code != -32013 {
		t.Error(err)
	}
	a.runTurn(a.thread(map[string]any{"approvalPolicy": "on-request"}), "RUN: echo ran")
	if !strings.Contains(w.lastToolOutput(), "ran") || w.hasFile("workspace/after") {
		t.Errorf("after the change: %q", w.lastToolOutput())
	}
}

// If no client can interrupt the turns when the policy is enforced, the shared Codex is ended with them. A client that
// has not sent initialize can't.
func TestEnforceEndsSharedCodexWithoutClient(t *testing.T) {
	t.Parallel()
	enforced := strings.Replace(hubConfig, "[policy]", "[policy]\nmode = \"enforce\"", 1)
	w := newHubWorld(t, strings.Replace(enforced, "enforce", "off", 1))
	a := w.joined()
	release := make(chan struct{})
	w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{scripted.Paused{Until: release}, scripted.Run("touch after")}})
	thread := a.thread(map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"})
	a.runTurn(thread, "SAY: one")
	a.startTurn(thread, "HOLD")
	w.open(proxyArgv...) // keeps the server
	a.closeAndWait()
	_, codex := w.hubProcess()
	w.write("config.toml", enforced)
	w.awaitEnd("the policy is enforced", codex...)
	if log := w.read("state/serve.log"); !strings.Contains(log, "codex is ended: turns may run that began before the policy was enforced") {
		t.Errorf("the log has\n%s", log)
	}
	close(release)
	b := w.joined()
	b.runTurn(b.thread(map[string]any{"approvalPolicy": "on-request"}), "RUN: echo ran")
	if !strings.Contains(w.lastToolOutput(), "ran") || w.hasFile("workspace/after") {
		t.Errorf("after the change: %q", w.lastToolOutput())
	}
}
