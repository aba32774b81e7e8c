//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// Several chats run at once. Their turns, cards and answers stay apart; a card of a hidden chat names it.
func TestNeovimChats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{ thread = { sandbox = 'workspace-write' } }")
	v.lua(laterPicker)
	v.runText("SAY: the first chat")
	v.startText("RUN: touch one")
	v.waitScreen("ga  Accept once", "touch one")
	v.typeKeys(":CodexChat<CR>")
	v.waitLua("vim.fn.bufwinid('codex://chat/2') > 0 and vim.fn.bufwinid('codex://chat') == -1")
	v.waitScreen("chat 2 of 2")
	v.lua(`second = function() return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr("codex://chat/2"), 0, -1, false), "\n") end`)
	v.typeKeys("iRUN: touch two<C-s>")
	v.started++
	v.waitLua("require('codex-bridge').about().pending_requests == 2")
	// The card of the first chat is still there; its keys work in the new chat too, and it names its chat.
	v.typeKeys(":CodexChats<CR>")
	v.waitLua("#pickers == 1")
	v.checkContains(v.lua("return pickers[1]"), "SAY: the first chat · working · 1 to answer", "(current)", "New chat", "Close this chat")
	v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://chat/2"))`)
	v.waitScreen("touch one")
	v.typeKeys("ga")
	v.waitScreen("What    touch two", "ga  Accept once") // the next card
	v.recordScreen("two chats")
	v.accept()
	v.waitTurns()
	if !w.workspaceHasFile("one") || !w.workspaceHasFile("two") {
		t.Error("not all accepted commands ran")
	}
	v.checkContains(v.chatText(), "the first chat", "$ touch one")
	v.checkContains(v.text("return second()"), "$ touch two")
	if strings.Contains(v.chatText(), "touch two") || strings.Contains(v.text("return second()"), "touch one") {
		t.Error("the chats are mixed")
	}

	// A card of a hidden chat.
	v.lua(`choose = { "SAY: the first chat" }`)
	v.typeKeys(":CodexChats<CR>")
	v.waitLua("vim.fn.bufwinid('codex://chat') > 0 and vim.fn.bufwinid('codex://chat/2') == -1")
	v.startText("RUN: touch three")
	v.waitScreen("touch three", "ga  Accept once")
	if strings.Contains(v.Screen().Text(), "Chat  ") {
		t.Error("the card of the shown chat names it")
	}
	v.decline()
	v.waitTurns()
	v.startText("RUN: sleep 1 && touch four")
	v.waitScreen("touch four", "ga  Accept once")
	v.lua(`require("codex-bridge.session").switch(require("codex-bridge.session").all()[2])`)
	v.decline()
	v.waitTurns()
	w.holdReply("wait")
	v.lua(`require("codex-bridge.session").all()[1]:send({ { type = "text", text = "RUN: touch five" } }, function() end)`)
	v.started++
	v.waitScreen("touch five", "Chat ", "SAY: the first chat")
	v.decline()
	v.waitTurns()

	// The thread of another chat is not loaded twice.
	v.lua(`require("codex-bridge").resume(require("codex-bridge.session").all()[1].thread.id)`)
	v.waitLua("vim.fn.bufwinid('codex://chat') > 0")
	// A closed chat leaves its thread and its buffer.
	v.lua(`choose = { "Close this chat" }`)
	v.typeKeys(":CodexChats<CR>")
	v.waitLua("#require('codex-bridge.session').all() == 1 and vim.fn.bufwinid('codex://chat/2') > 0 and vim.fn.bufnr('^codex://chat$') == -1")
	v.lua(`require("codex-bridge").close()`)
	v.waitLua("#seen('CodexExited') == 1")
	v.checkContains(v.text("return second()"), "codex exited")
}

// Threads are searched, renamed, archived, taken out of the archive, and forked, with pickers that answer later.
func TestNeovimThreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy})
	v := w.neovim("{ thread = { sandbox = 'workspace-write' } }")
	v.runText("SAY: about apples")
	v.typeKeys(":CodexNew<CR>")
	v.runText("SAY: about pears")
	v.lua(laterPicker)
	list := func(keys string) string {
		t.Helper()
		v.lua("pickers = {}")
		v.typeKeys(keys)
		v.waitLua("#pickers > 0")
		return v.lua("return pickers")
	}
	v.checkContains(list(":CodexThreads<CR>"), "SAY: about apples", "SAY: about pears", "Search…", "Archived threads")

	// Renamed, by the list and by the command.
	v.lua(`choose, answers = { "apples", "Rename" }, { "Fruit\u{202e}" }`)
	v.typeKeys(":CodexThreads<CR>")
	v.waitLua(`noted([[Renamed: Fruit\u202e]])`)
	v.typeKeys(":Codex /rename Garden<CR>")
	v.waitLua("require('codex-bridge.session').current():title() == 'Garden'")
	all := list(":CodexThreads<CR>")
	v.checkContains(all, `Fruit\\u202e`, "Garden")
	if found := list(":CodexThreads Garden<CR>"); !strings.Contains(found, "Threads with “Garden”") || strings.Contains(found, "Fruit") || !strings.Contains(found, "All threads") {
		t.Errorf("the search gives %s", found)
	}
	v.lua(`answers = { "Fruit" }`)
	v.lua(`choose = { "Search" }`)
	v.lua("pickers = {}")
	v.typeKeys(":Codex /threads<CR>")
	v.waitLua("#pickers == 3")
	if found := v.lua("return pickers[3]"); !strings.Contains(found, `Fruit\\u202e`) || strings.Contains(found, "Garden") {
		t.Errorf("the search gives %s", found)
	}

	// A fork is a copy in another chat.
	v.typeKeys(":Codex /fork<CR>")
	v.waitLua("#require('codex-bridge.session').all() == 2 and require('codex-bridge').about().thread")
	v.waitScreen("chat 2 of 2", "SAY: about pears")
	v.runText("SAY: in the copy")
	if last := w.model.Requests()[len(w.model.Requests())-1]; !last.Contains("about pears") {
		t.Error("the copy has no history")
	}
	if strings.Contains(v.chatText(), "in the copy") {
		t.Error("the copy is shown in the chat of the original")
	}

	// Archived threads are in a list of their own, and come back.
	v.typeKeys(":Codex /archive<CR>")
	v.waitLua("require('codex-bridge').about().thread == nil")
	v.lua(`choose = { "Archived threads", "Garden", "Unarchive" }`)
	v.typeKeys(":CodexThreads<CR>")
	v.waitLua("noted('Unarchived: Garden')")
	v.lua(`choose = { "Fruit", "Resume in another chat" }`)
	v.typeKeys(":CodexThreads<CR>")
	v.waitLua("#require('codex-bridge.session').all() == 3 and require('codex-bridge').about().thread")
	v.waitScreen("about apples")
}

// A refusal of the policy is said, and the rest works.
func TestNeovimThreadsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy + "[policy.methods]\n\"thread/name/set\" = \"deny\"\n\"thread/fork\" = \"deny\"\n\"review/start\" = \"deny\"\n"})
	v := w.neovim("{}")
	v.runText("SAY: hello")
	v.lua(laterPicker)
	v.typeKeys(":Codex /rename other<CR>")
	v.waitLua("noted('codex: thread/name/set')")
	v.typeKeys(":Codex /review it<CR>")
	v.waitLua("chat():find('> not started: review/start', 1, true)")
	v.typeKeys(":Codex /fork<CR>")
	v.waitLua("noted('codex: thread/fork')")
	if got := v.lua("return #require('codex-bridge.session').all()"); got != "1" {
		t.Errorf("%s chats are open", got)
	}
	v.runText("SAY: it goes on")
}
