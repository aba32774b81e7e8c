//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// Codex accepts an array for a struct. A client with capabilities as an array made Codex omit
// hook/completed unnoticed: without the hook's program, commands ran without hooks and the turn
// completed (R1). With an object the bridge reads the list, Codex sends the notification, and the
// turn is interrupted.
func TestCapabilitiesAsArray(t *testing.T) {
	t.Parallel()
	// Control: Codex uses the list in an array. Its place in the array is the order of Codex's
	// fields.
	alone := newWorld(t, options{})
	control := alone.open(codexPath, "app-server")
	silenced := false
	for _, capabilities := range permutedCapabilities("thread/started") {
		if _, err := control.Call(control.ctx, "initialize", map[string]any{
			"clientInfo": map[string]any{"name": "x", "version": "1"}, "capabilities": capabilities,
		}); err == nil {
			silenced = true
			break
		}
	}
	if !silenced {
		t.Fatal("Codex accepts no array for capabilities: the test shows nothing")
	}
	id := editor.Member(control.must("thread/start", map[string]any{"cwd": alone.workspace}), "thread", "id")
	control.must("thread/name/set", map[string]any{"threadId": id, "name": "n"})
	control.waitFor(0, "thread/name/updated", nil)
	for _, m := range control.Messages() {
		if m.Method == "thread/started" {
			t.Fatal("Codex ignores the array: the test shows nothing")
		}
	}
	control.closeAndWait()

	w := newWorld(t, options{config: hooksPolicy})
	program := filepath.Join(w.root, "bridge")
	if err := os.Link(proxyPath, program); err != nil {
		text, err := os.ReadFile(proxyPath)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := w.open(program, "app-server")
	methods := []string{"hook/completed", "item/started", "thread/settings/updated", "thread/closed", "thread/archived"}
	for _, capabilities := range permutedCapabilities(methods...) {
		err := c.mustFail("initialize", map[string]any{"clientInfo": map[string]any{"name": "x", "version": "1"}, "capabilities": capabilities})
		if !strings.Contains(err.Message, "params.capabilities") {
			t.Errorf("an array: error %v", err)
		}
	}
	c.initialize(map[string]any{"experimentalApi": true, "optOutNotificationMethods": methods})
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.runTurn(thread, "RUN: echo x > hooked")
	c.checkPresent("hooked")
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	turn, mark := c.startTurn(thread, "RUN: sleep 3600")
	if status := c.waitTurn(thread, turn, mark); status != "interrupted" {
		t.Errorf("a turn without the hook's program: status %q", status)
	}
	// An archived thread is no longer verified (R11).
	c.must("thread/archive", map[string]any{"threadId": thread})
	c.must("model/list", map[string]any{}) // a barrier for Codex's notifications
	if err := c.mustFail("turn/start", input(thread, "x")); err.Code != -32013 {
		t.Errorf("a turn in an archived thread: error %v", err)
	}
	for _, m := range c.Messages() {
		for _, method := range methods {
			if m.Method == method {
				t.Errorf("the client got %s, which it opted out of", method)
			}
		}
	}
}

// permutedCapabilities returns arrays of seven fields with the list at each place.
func permutedCapabilities(methods ...string) (all [][]any) {
	for _, other := range []any{false, nil} {
		for place := range 7 {
			for _, extensions := range []int{-1, 0, 1, 2, 3, 4, 5, 6} {
				list := []any{false, false, false, false, false, false, false}
				if extensions >= 0 {
					list[extensions] = other
				}
				list[place] = methods
				all = append(all, list)
			}
		}
	}
	return all
}
