//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// Codex takes an array for a struct, so that a client whose capabilities were one had
// Codex silence hook/completed unread: with the hook's program gone, commands ran
// unhooked and the turn completed (R1). In the object form the list is read, Codex
// says it all the same, and the turn is interrupted.
func TestCapabilitiesAsArray(t *testing.T) {
	t.Parallel()
	// The control: codex heeds the list in an array. Where in the array it stands is the
	// order of codex's fields.
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
		t.Fatal("codex takes no array for capabilities: the attack can't work, and this test shows nothing")
	}
	id := editor.Member(control.must("thread/start", map[string]any{"cwd": alone.workspace}), "thread", "id")
	control.must("thread/name/set", map[string]any{"threadId": id, "name": "n"})
	control.waitFor(0, "thread/name/updated", nil)
	for _, m := range control.Messages() {
		if m.Method == "thread/started" {
			t.Fatal("codex does not heed the array: the attack can't work, and this test shows nothing")
		}
	}
	control.quit()

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
		err := c.refused("initialize", map[string]any{"clientInfo": map[string]any{"name": "x", "version": "1"}, "capabilities": capabilities})
		if !strings.Contains(err.Message, "params.capabilities") {
			t.Errorf("an array is refused with %v", err)
		}
	}
	c.initialize(map[string]any{"experimentalApi": true, "optOutNotificationMethods": methods})
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.say(thread, "RUN: echo x > hooked")
	c.present("hooked")
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	turn, mark := c.begin(thread, "RUN: sleep 3600")
	if status := c.end(thread, turn, mark); status != "interrupted" {
		t.Errorf("a turn whose hook has no program ended as %q", status)
	}
	// A thread that codex has put away is not verified any more (R11).
	c.must("thread/archive", map[string]any{"threadId": thread})
	c.must("model/list", map[string]any{}) // what codex says of it has come
	if err := c.refused("turn/start", input(thread, "x")); err.Code != -32013 {
		t.Errorf("a turn in a thread that was archived is refused with %v", err)
	}
	for _, m := range c.Messages() {
		for _, method := range methods {
			if m.Method == method {
				t.Errorf("the client has heard %s, which it has opted out of", method)
			}
		}
	}
}

// permutedCapabilities are arrays of seven fields with the list at each place.
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
