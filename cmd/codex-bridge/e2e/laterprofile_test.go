//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

const laterConfig = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [%s]\nnetwork = %v\n"

// reconfigures changes the configuration of the bridge, and waits until the bridge has read it while
// a thread is open. It may be called several times.
func (a *acceptingEditor) reconfigures(config string) {
	a.t.Helper()
	const report = "still checked against the policies"
	var before int
	if _, err := a.WaitStderr(a.ctx, func(text string) bool {
		before = strings.Count(text, report)
		return true
	}); err != nil {
		a.t.Fatal(err)
	}
	a.write("config.toml", config+withLongGrace(config))
	if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Count(text, report) > before }); err != nil {
		a.t.Fatal(err)
	}
}

// The network is allowed while a thread is open. Before, no turn gets it, whatever it names; after
// a resume a turn gets it.
func TestNetworkAllowedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: fmt.Sprintf(laterConfig, `".github"`, false)})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	opened := map[string]any{"type": "workspaceWrite", "networkAccess": true}
	reaches := func(settings map[string]any) bool {
		t.Helper()
		turn, mark := a.startTurnWith(thread, "RUN: touch ran; python3 -c 'import socket; socket.socket(socket.AF_INET); print(\"has a socket\")'", settings)
		a.waitTurn(thread, turn, mark)
		if !w.hasFile("workspace/ran") {
			t.Errorf("no command ran: %q", w.lastToolOutput())
		}
		return strings.Contains(w.lastToolOutput(), "has a socket")
	}
	for name, settings := range map[string]map[string]any{"sandboxPolicy": {"sandboxPolicy": opened}, "permissions": {"permissions": "codex-bridge-network"}} {
		if reaches(settings) {
			t.Errorf("%s: the network is open before it is allowed", name)
		}
	}
	a.reconfigures(fmt.Sprintf(laterConfig, `".github"`, true))
	a.must("thread/resume", map[string]any{"threadId": thread, "excludeTurns": true})
	if !reaches(map[string]any{"sandboxPolicy": opened}) {
		t.Errorf("the network is closed: %q", w.lastToolOutput())
	}
	if reaches(map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}}) {
		t.Error("the network is open in a turn without it")
	}
	a.closeAndWait()
}

// A path is protected no more while a thread is open. The thread comes back with the profile that
// it has, also if the client has unsubscribed from it.
func TestProtectedPathRemovedLater(t *testing.T) {
	t.Parallel()
	for _, unsubscribed := range []bool{false, true} {
		t.Run(fmt.Sprintf("unsubscribed %v", unsubscribed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: fmt.Sprintf(laterConfig, `".github", "secrets"`, false)})
			w.write("workspace/secrets/x", "")
			w.write("workspace/.github/x", "")
			w.write("workspace/write.sh", "touch ran; touch .github/made; touch secrets/made\n")
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "SAY: hi")
			a.reconfigures(fmt.Sprintf(laterConfig, `".github"`, false))
			if unsubscribed {
				a.must("thread/unsubscribe", map[string]any{"threadId": thread})
			}
			a.must("thread/resume", map[string]any{"threadId": thread, "excludeTurns": true})
			a.turn(thread, "RUN: sh write.sh")
			if !w.hasFile("workspace/ran") || w.hasFile("workspace/.github/made") || w.hasFile("workspace/secrets/made") {
				t.Errorf("ran: %v, .github: %v, secrets: %v; %q", w.hasFile("workspace/ran"), w.hasFile("workspace/.github/made"), w.hasFile("workspace/secrets/made"), w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
