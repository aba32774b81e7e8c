//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

const neovimPolicy = "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n"

// Under a policy the bridge asks instead of Codex, without a visible difference, and the plugin
// shows the policy's settings.
func TestNeovimPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy})
	w.write("workspace/poem.txt", "one\ntwo\n")
	w.model.Add(scripted.Step{When: "a change", Reply: updatePatch("poem.txt", "one", "two", "zwei")})
	v := w.neovim("{ thread = { approvalPolicy = 'on-request', sandbox = 'danger-full-access' } }")
	v.startText("RUN: echo from the shell")
	v.waitScreen("Codex asks to run a command", "echo from the shell", "ga  Accept once")
	v.recordScreen("asked")
	v.accept()
	v.waitTurns()
	v.checkContains(v.chatText(), "The tool ended with 0 and said: from the shell")
	v.waitScreen("policy enforce, gate · ")
	if got := v.text("return require('codex-bridge').about().thread.approvalPolicy"); got != "untrusted" {
		t.Errorf("the chat shows %s", got)
	}
	if got := v.lua("return #seen('CodexPolicy') > 0"); got != "true" {
		t.Error("the chat does not show the policy's changes")
	}
	v.startText("a change")
	v.openDiff("poem.txt (now)", "zwei")
	v.typeKeys("ga")
	v.waitTurns()
	if raw, _ := os.ReadFile(filepath.Join(w.workspace, "poem.txt")); string(raw) != "one\nzwei\n" {
		t.Errorf("the file has %q", raw)
	}
	// The chat shows the policy's refusals.
	if got := v.text(`
local refused
require("codex-bridge").request("process/spawn", { processHandle = "p", command = { "true" } }, function(err) refused = err and err.message or "" end)
vim.wait(60000, function() return refused end)
return refused`); got == "" {
		t.Error("the request was not refused")
	}
	v.waitLua("chat():find('Refused by the policy', 1, true) and chat():find('process/spawn', 1, true)")
}

// The user is asked about a request with policy.methods "ask".
func TestNeovimMethodThatAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy + "[policy.methods]\n\"turn/start\" = \"ask\"\n"})
	v := w.neovim("{}")
	v.startText("SAY: hello")
	v.waitScreen("codex-bridge asks", "Allow turn/start?", "ga  Accept once")
	v.accept()
	v.waitTurns()
	v.checkContains(v.chatText(), "hello")
}

// A question that the bridge answered disappears from the screen.
func TestNeovimUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy + "[approvals]\ntimeout = \"1s\"\n"})
	v := w.neovim("{}")
	v.runText("PATCH: new.txt\nfresh")
	v.waitLua("#vim.api.nvim_list_tabpages() == 1 and require('codex-bridge').about().pending_requests == 0")
	if w.workspaceHasFile("new.txt") {
		t.Error("it was written")
	}
	v.runText("SAY: and on")
}
