//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// A changed policy trusts no project any more. Codex ignores the overlay of a thread that it has in
// memory, so that thread does not resume. After a change that requires no other overlay it does.
func TestTrustWithdrawnLater(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nproject_trust = %q\nnetwork = %v\n"
	for name, later := range map[string]string{
		"trust":   fmt.Sprintf(config, "never", false),
		"network": fmt.Sprintf(config, "user", true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: fmt.Sprintf(config, "user", false)})
			w.write("home/config.toml", w.read("home/config.toml")+fmt.Sprintf("\n[projects.%q]\ntrust_level = \"trusted\"\n", w.workspace))
			w.write("workspace/.codex/config.toml", "developer_instructions = \"OF THE PROJECT\"\n")
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "RUN: true")
			if !w.modelReceived("OF THE PROJECT") {
				t.Fatal("Codex does not load the project's configuration")
			}
			a.reconfigures(later)
			resume := map[string]any{"threadId": thread, "excludeTurns": true}
			if name == "trust" {
				if err := a.mustFail("thread/resume", resume); err.Code != -32013 || !strings.Contains(err.Message, "restart Codex") {
					t.Errorf("got %v", err)
				}
			} else {
				a.must("thread/resume", resume)
				a.turn(thread, "RUN: touch made")
				if !w.hasFile("workspace/made") {
					t.Errorf("the resumed thread runs no command: %q", w.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}

// The policy file of a folder changes while Codex has a thread of that folder in memory, and trusts
// no project any more. The thread does not resume, and neither does its subagent.
func TestPolicyFileWithdrawsTrustLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n", mute: "many"})
	w.repositoryIn("lib")
	w.write("lib/.codex-bridge.toml", "[policy]\nproject_trust = \"user\"\n")
	lib := w.root + "/lib"
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nproject_trust = \"user\"\n"
	w.write("config.toml", config+withLongGrace(config))
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"cwd": lib, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, `CALL: multi_agent_v1/spawn_agent {"message":"SAY: hello"}`)
	a.waitTurn(thread, turn, mark)
	child := a.waitAgentTurn(thread, mark)
	a.must("thread/resume", map[string]any{"threadId": child, "excludeTurns": true})
	w.write("lib/.codex-bridge.toml", "[policy]\nproject_trust = \"never\"\n")
	for _, id := range []string{child, thread} {
		if err := a.mustFail("thread/resume", map[string]any{"threadId": id, "excludeTurns": true}); !strings.Contains(err.Message, "opened before this policy") {
			t.Errorf("got %v", err)
		}
	}
	a.closeAndWait()
}

// A policy is looser for a while, and Codex loads a thread again with an overlay of that time. It
// does not resume under the stricter policy.
func TestOverlayOfLooserTime(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nconfig_keys = [%s]\n"
	strict, loose := fmt.Sprintf(config, `"model"`), fmt.Sprintf(config, `"model", "web_search"`)
	w := newWorld(t, options{config: strict, codexConfig: inWorkspace})
	a := w.newAcceptingEditor(proxyArgv...)
	overlay := map[string]any{"web_search": "disabled"}
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "config": overlay})
	a.turn(thread, "SAY: hello")
	resume := map[string]any{"threadId": thread, "excludeTurns": true}
	a.reconfigures(loose)
	a.must("thread/unsubscribe", map[string]any{"threadId": thread})
	a.must("thread/resume", map[string]any{"threadId": thread, "excludeTurns": true, "config": overlay})
	a.reconfigures(strict)
	if err := a.mustFail("thread/resume", resume); !strings.Contains(err.Message, "opened before this policy") {
		t.Errorf("got %v", err)
	}
	a.must("thread/archive", map[string]any{"threadId": thread})
	a.must("thread/unarchive", map[string]any{"threadId": thread})
	a.must("thread/resume", resume) // Codex has loaded it anew
	a.closeAndWait()
}
