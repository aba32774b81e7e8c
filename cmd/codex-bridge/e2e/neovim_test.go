//go:build linux

package e2e_test

import "testing"

// A user opens the chat, writes, reads the reply, and continues with commands.
func TestNeovimChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.typeKeys(":Codex<CR>")
	v.waitScreen("Ask Codex…", "<CR> sends")
	v.recordScreen("opened")
	v.typeKeys("igood day<CR>to you<Esc><CR>")
	v.started++
	v.waitTurns()
	v.waitScreen("## You", "## Codex", "codex: idle · policy off · readOnly")
	v.checkContains(v.chatText(), "## You\n\ngood day\nto you\n\n## Codex\n\nHello from the scripted model. You said: good day\nto you\n")
	v.recordScreen("answered")

	v.runText("RUN: seq 1 6")
	v.waitScreen("▸ $ ", "exit 0 · 6 lines")
	v.checkContains(v.chatText(), "\n````\n1\n2\n", "\n6\n````\n")
	v.recordScreen("a command")
	if got := v.lua("return vim.fn.getbufvar('codex://chat', '&filetype')"); got != `"markdown"` {
		t.Errorf("chat state %s", got)
	}

	// Keys of the insert mode also send, and clear the prompt.
	v.typeKeys("iSAY: sent from insert mode<C-s>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "## Codex\n\nsent from insert mode\n")
	v.waitScreen("Ask Codex…")

	v.typeKeys(":CodexNew<CR>")
	v.waitLua("chat() == '' and require('codex-bridge').about().thread == nil")
	v.runText("SAY: another thread")
	if got := v.lua("return #seen('CodexThread')"); got != "2" {
		t.Errorf("%s threads", got)
	}
	if last := w.model.Requests()[len(w.model.Requests())-1]; last.Contains("good day") {
		t.Error("the new thread has the old history")
	}

	// The chat shows the error of a failed turn.
	v.runText("FAIL")
	v.checkContains(v.chatText(), "> The scripted model was told to fail.")
	v.recordScreen("failed")

	// Closing windows keeps the conversation.
	v.lua("require('codex-bridge').hide()")
	v.waitLua("#vim.api.nvim_list_wins() == 1")
	v.typeKeys(":Codex<CR>")
	v.waitScreen("another thread")

	// No process outlives Neovim.
	v.typeKeys(":qa!<CR>")
	if left := w.waitProcesses(func(pids []int) bool { return len(pids) == 0 }); len(left) > 0 {
		t.Errorf("running after the end of Neovim:%s", describe(left))
	}
}

// A selection is sent with its place, or quoted in the prompt.
func TestNeovimSelection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/sum.py", "a = 1\nb = 2\nprint(a + b)\n")
	v := w.neovim("{}")
	v.typeKeys(":edit sum.py<CR>")
	v.runText("SAY: first")
	v.lua("vim.cmd('wincmd t')")
	v.typeKeys(":2,3Codex what is this<CR>")
	v.started++
	v.waitTurns()
	quote := "sum.py, lines 2 to 3:\n```python\nb = 2\nprint(a + b)\n```"
	v.checkContains(v.chatText(), "## You\n\nwhat is this\n\n"+quote+"\n")

	v.lua("vim.cmd('wincmd t')")
	v.typeKeys("ggVj:Codex<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://prompt'")
	v.recordScreen("quoted")
	v.typeKeys("iand this?<Esc><CR>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "and this?\n\nsum.py, lines 1 to 2:\n```python\na = 1\nb = 2\n```\n")
	v.recordScreen("answered")
}
