//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"testing"
)

// A thread is chosen from those of the folder, its past is shown, and it goes on.
func TestNeovimResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.says("SAY: the first thread")
	v.says("RUN: echo from the shell")
	v.types(":CodexNew<CR>")
	v.says("SAY: the second thread")
	v.types(":CodexResume<CR>")
	v.sees("Resume a thread", "1: ", "2: ", "SAY: the first thread")
	v.shot("the picker")
	choice := "1"
	for line := range strings.Lines(v.Screen().Text()) {
		if strings.Contains(line, "SAY: the first thread") && strings.HasPrefix(line, "2: ") {
			choice = "2"
		}
	}
	v.types(choice + "<CR>")
	v.until("chat():find('the first thread') and not chat():find('the second thread')")
	v.sees("## You", "## Codex")
	v.shot("resumed")
	v.says("SAY: it goes on")
	if last := w.model.Requests()[len(w.model.Requests())-1]; !last.Contains("the first thread") || last.Contains("the second thread") {
		t.Error("the model was told of another thread")
	}
}

// A conversation with a name goes on in the next Neovim.
func TestNeovimSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{ session = 'work' }")
	v.says("SAY: before")
	v.types(":qa!<CR>")
	w.await(func(pids []int) bool { return len(pids) == 0 })
	v = w.neovim("{ session = 'work' }")
	v.says("SAY: after")
	v.wants(v.chat(), "## Codex\n\nbefore\n", "## Codex\n\nafter\n")
	if last := w.model.Requests()[len(w.model.Requests())-1]; !last.Contains("SAY: before") {
		t.Error("the model was not told of before")
	}
}

// When the bridge is killed the person is told, and what is sent next goes on with the thread.
func TestNeovimBridgeDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.says("SAY: before")
	w.holds("for ever")
	v.begins("for ever")
	v.until("chat():find('Working')")
	bridge := v.lua("return vim.api.nvim_get_proc_children(vim.fn.getpid())[1]")
	v.lua("vim.uv.kill("+bridge+", 'sigkill')", nil)
	v.until("#seen('CodexExited') == 1")
	v.wants(v.chat(), "> codex exited (status 0, signal 9); your next message restarts it")
	if got := v.text("return require('codex-bridge').about().state"); got != "off" {
		t.Errorf("it is %s", got)
	}
	v.shot("killed")
	v.said-- // of the turn that was killed nothing more is heard
	v.says("SAY: after")
	v.wants(v.chat(), "## Codex\n\nafter\n")
	if last := w.model.Requests()[len(w.model.Requests())-1]; !last.Contains("SAY: before") {
		t.Error("the model was not told of before")
	}
}

// A bridge that does not start says why, and the text comes back.
func TestNeovimBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbx = \"read-only\"\n"})
	v := w.neovim("{}")
	v.types(":Codex<CR>ihello<Esc><CR>")
	v.until("chat():find('sandbx')")
	v.sees("hello")
	v.shot("broken")
	v.wants(v.chat(), "> not sent: could not start", "policy.sandbx: unknown key")
	if got := v.text("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('codex://prompt'), 0, 1, true)[1]"); got != "hello" {
		t.Errorf("the prompt has %q", got)
	}
	// It is put right and sent again.
	if err := os.WriteFile(w.root+"/config.toml", []byte("[policy]\nsandbox = \"read-only\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.types("<CR>")
	v.said++
	v.ends()
	v.sees("policy enforce")
	v.shot("mended")

	missing := w.neovim("{ cmd = { 'no-such-program' } }")
	missing.types(":Codex hello<CR>")
	missing.until("chat():find('no%-such%-program is not executable')")
}
