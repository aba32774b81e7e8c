//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge/cmd/internal/scripted"
)

const neovimPolicy = "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n"

// Under a policy the bridge asks in codex's place, and a person sees no difference; what
// the policy makes of the settings is what is shown.
func TestNeovimPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy})
	w.write("workspace/poem.txt", "one\ntwo\n")
	w.model.Add(scripted.Step{When: "a change", Reply: update("poem.txt", "one", "two", "zwei")})
	v := w.neovim("{ thread = { approvalPolicy = 'never', sandbox = 'danger-full-access' } }")
	v.begins("RUN: echo from the shell")
	v.sees("Run in ", "echo from the shell", "1: Accept")
	v.shot("asked")
	v.types("1<CR>")
	v.ends()
	v.wants(v.chat(), "The tool ended with 0 and said: from the shell")
	v.sees("policy enforce, gate · ")
	if got := v.text("return require('codex-bridge').about().thread.approvalPolicy"); got != "untrusted" {
		t.Errorf("what is shown is %s", got)
	}
	if got := v.lua("return #seen('CodexPolicy') > 0"); got != "true" {
		t.Error("nothing was told of what the policy changed")
	}
	v.begins("a change")
	v.sees("poem.txt (now)", "zwei", "ga accept")
	v.types("ga")
	v.ends()
	if raw, _ := os.ReadFile(filepath.Join(w.workspace, "poem.txt")); string(raw) != "one\nzwei\n" {
		t.Errorf("the file has %q", raw)
	}
	// What the policy refuses is said.
	if got := v.text(`
local refused
require("codex-bridge").request("process/spawn", { processHandle = "p", command = { "true" } }, function(err) refused = err and err.message or "" end)
vim.wait(60000, function() return refused end)
return refused`); got == "" {
		t.Error("it was not refused")
	}
	v.until("chat():find('the policy refused process/spawn')")
}

// The person is asked about a request for which policy.methods says "ask".
func TestNeovimMethodThatAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy + "[policy.methods]\n\"turn/start\" = \"ask\"\n"})
	v := w.neovim("{}")
	v.begins("SAY: hello")
	v.sees("codex-bridge asks: Allow turn/start?", "1: Accept")
	v.types("1<CR>")
	v.ends()
	v.wants(v.chat(), "hello")
}

// A question that the bridge has answered in the person's place is taken off the screen.
func TestNeovimUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy + "[approvals]\ntimeout = \"1s\"\n"})
	v := w.neovim("{}")
	v.says("PATCH: new.txt\nfresh")
	v.until("#vim.api.nvim_list_tabpages() == 1 and require('codex-bridge').about().pending_requests == 0")
	if w.exists("new.txt") {
		t.Error("it was written")
	}
	v.says("SAY: and on")
}
