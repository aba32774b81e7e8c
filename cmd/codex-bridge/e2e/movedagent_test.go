//go:build linux

package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A turn moves a thread to a folder in which nothing has to be protected, and starts an agent
// there. The agent has its parent's profile, and the client can resume it.
func TestAgentOfMovedThreadIsResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n"})
	lib, governed := filepath.Join(w.root, "lib"), filepath.Join(w.root, "governed")
	w.repositoryIn("lib")
	w.repositoryIn("governed")
	w.write("governed/.codex-bridge.toml", "[[policy.rule]]\ncommand = \"mkdir **\"\ndecision = \"deny\"\nreason = \"Folders are made by people.\"\n")
	config := fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib)
	w.write("config.toml", config+withLongGrace(config))
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"cwd": governed, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.startTurnWith(thread, `CALL: multi_agent_v1/spawn_agent {"message":"SAY: hello"}`, map[string]any{"cwd": lib})
	a.waitTurn(thread, turn, mark)
	child := a.waitAgentTurn(thread, mark)
	opened := a.must("thread/resume", map[string]any{"threadId": child, "excludeTurns": true})
	if cwd := editor.Member(opened, "cwd"); cwd != lib {
		t.Errorf("the agent's folder is %s", cwd)
	}
	a.turn(child, "RUN: touch made; echo > "+governed+"/made")
	if !w.hasFile("lib/made") {
		t.Errorf("the agent runs no command: %q", w.lastToolOutput())
	}
	a.turn(child, "RUN: mkdir denied")
	if w.hasFile("lib/denied") || !strings.Contains(w.lastToolOutput(), "Folders are made by people") {
		t.Errorf("the rule of the parent's folder does not apply: %q", w.lastToolOutput())
	}
	a.closeAndWait()
}
