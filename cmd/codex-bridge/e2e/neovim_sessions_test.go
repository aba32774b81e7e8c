//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"testing"
)

// The user selects a thread of the folder, sees its history and continues it.
func TestNeovimResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.runText("SAY: the first thread")
	v.runText("RUN: echo from the shell")
	v.typeKeys(":CodexNew<CR>")
	v.runText("SAY: the second thread")
	v.typeKeys(":CodexResume<CR>")
	v.waitScreen("Resume a thread", "1: ", "2: ", "SAY: the first thread")
	v.recordScreen("the picker")
	choice := "1"
	for line := range strings.Lines(v.Screen().Text()) {
		if strings.Contains(line, "SAY: the first thread") && strings.HasPrefix(line, "2: ") {
			choice = "2"
		}
	}
	v.typeKeys(choice + "<CR>")
	v.waitLua("chat():find('the first thread') and not chat():find('the second thread')")
	v.waitScreen("## You", "## Codex")
	v.recordScreen("resumed")
	v.runText("SAY: it goes on")
	if last := w.model.Requests()[len(w.model.Requests())-1]; !last.Contains("the first thread") || last.Contains("the second thread") {
		t.Error("the model got another thread")
	}
}

// A conversation with a name continues in the next Neovim.
func TestNeovimSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{ session = 'work' }")
	v.runText("SAY: before")
	v.typeKeys(":qa!<CR>")
	w.waitProcesses(func(pids []int) bool { return len(pids) == 0 })
	v = w.neovim("{ session = 'work' }")
	v.runText("SAY: after")
	v.checkContains(v.chatText(), "## Codex\n\nbefore\n", "## Codex\n\nafter\n")
	if last := w.model.Requests()[len(w.model.Requests())-1]; !last.Contains("SAY: before") {
		t.Error("the model did not get the history")
	}
}

// If the bridge is killed, the chat says so, and the next text continues the thread.
func TestNeovimBridgeDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.runText("SAY: before")
	w.holdReply("for ever")
	v.startText("for ever")
	v.waitLua("chat():find('Working')")
	bridge := v.lua("return vim.api.nvim_get_proc_children(vim.fn.getpid())[1]")
	v.lua("vim.uv.kill("+bridge+", 'sigkill')", nil)
	v.waitLua("#seen('CodexExited') == 1")
	v.checkContains(v.chatText(), "> codex exited (status 0, signal 9); your next message restarts it")
	if got := v.text("return require('codex-bridge').about().state"); got != "off" {
		t.Errorf("state %s", got)
	}
	v.recordScreen("killed")
	v.started-- // the killed turn sends no end
	v.runText("SAY: after")
	v.checkContains(v.chatText(), "## Codex\n\nafter\n")
	if last := w.model.Requests()[len(w.model.Requests())-1]; !last.Contains("SAY: before") {
		t.Error("the model did not get the history")
	}
}

// If the bridge does not start, the chat shows the reason, and the text returns to the prompt.
func TestNeovimBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbx = \"read-only\"\n"})
	v := w.neovim("{}")
	v.typeKeys(":Codex<CR>ihello<Esc><CR>")
	v.waitLua("chat():find('sandbx')")
	v.waitScreen("hello")
	v.recordScreen("broken")
	v.checkContains(v.chatText(), "> not sent: could not start", "policy.sandbx: unknown key")
	if got := v.text("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('codex://prompt'), 0, 1, true)[1]"); got != "hello" {
		t.Errorf("the prompt has %q", got)
	}
	// The user fixes it and sends the text again.
	if err := os.WriteFile(w.root+"/config.toml", []byte("[policy]\nsandbox = \"read-only\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.typeKeys("<CR>")
	v.started++
	v.waitTurns()
	v.waitScreen("policy enforce")
	v.recordScreen("mended")

	missing := w.neovim("{ cmd = { 'no-such-program' } }")
	missing.typeKeys(":Codex hello<CR>")
	missing.waitLua("chat():find('no%-such%-program is not executable')")
}
