//go:build linux

package e2e_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// The plan list of a turn is one block, which changes. The winbars and components have its state, the time, the tokens and
// the context.
func TestNeovimProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "[tools.update_plan]\nenabled = true\n"})
	v := w.neovim("{ window = { position = 'bottom', height = 20 } }")
	release := w.holdReply("Plan updated")
	v.lua(`vim.o.statusline = "<%{v:lua.require'codex-bridge'.component('plan')}>"`)
	v.startText(`CALL: update_plan {"explanation":"why","plan":[{"step":"one","status":"completed"},{"step":"two\u001b[1m","status":"in_progress"},{"step":"three","status":"pending"}]}`)
	v.waitScreen("Working…", "plan 1/3", "<plan 1/3>", "codex: working 0:")
	shownTime := func() string { return regexp.MustCompile(`working \d+:\d\d`).FindString(v.Screen().Text()) }
	for first := shownTime(); shownTime() == first; { // it advances without a message of Codex
		select {
		case <-time.After(10 * time.Millisecond):
		case <-v.ctx.Done():
			t.Fatalf("the time is still %q", first)
		}
	}
	v.recordScreen("plan")
	v.checkContains(v.chatText(), "### Plan\n\nwhy\n- [x] one\n- [>] two\n- [ ] three\n")
	v.lua(`local current = require("codex-bridge.session").current()
local plan = { { step = "one", status = "completed" }, { step = "two", status = "completed" } }
current:notification("turn/plan/updated", { threadId = current.thread.id, turnId = current.turn, plan = plan })`)
	v.waitScreen("plan 2/2")
	chat := v.chatText()
	v.checkContains(chat, "### Plan\n\n- [x] one\n- [x] two\n\n", "\n## Codex\n\nWorking…")
	if strings.Contains(chat, "] three") || strings.Count(chat, "### Plan") != 1 {
		t.Errorf("the list was not replaced:\n%s", chat)
	}
	release()
	v.waitTurns()
	v.waitScreen("codex: idle · ", "30 tokens", "0% of context", "<>")
	v.lua(`local current = require("codex-bridge.session").current()
current:notification("thread/tokenUsage/updated", { threadId = current.thread.id, turnId = "t",
  tokenUsage = { total = { totalTokens = 123456 }, last = { totalTokens = 50000 }, modelContextWindow = 200000 } })`)
	v.waitScreen("123k tokens", "25% of context")
	v.checkContains(v.text(`local _, err = pcall(require("codex-bridge").component, "colour") return err`),
		"component(): unknown name colour; use one of approval, chat, context, effort, model, plan, policy, sandbox, state, time, tokens")
}

// The end of a turn whose chat is not on the screen is a notification; one that the user sees is not.
func TestNeovimTurnEndsUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.lua(`notes = {} vim.notify = function(text) notes[#notes + 1] = text end`)
	v.runText("SAY: seen")
	release := w.holdReply("begin")
	v.startText("begin")
	v.waitScreen("Working…")
	v.lua(`require("codex-bridge").hide()`)
	release()
	v.waitTurns()
	if got := v.lua("return notes"); got != `["codex: the turn has ended: SAY: seen"]` {
		t.Errorf("the notifications are %s", got)
	}
	v.lua(`vim.cmd.tabnew() require("codex-bridge").send("FAIL")`)
	v.started++
	v.waitTurns()
	v.waitLua("notes[#notes] == 'codex: the turn has failed: SAY: seen'")
}
