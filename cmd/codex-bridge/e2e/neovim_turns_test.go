//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

// holdReply makes the model wait before its next answer to when, until release is called.
func (w *world) holdReply(when string) (release func()) {
	until := make(chan struct{})
	w.model.Add(scripted.Step{When: when, Reply: scripted.Reply{scripted.Paused{Until: until}}})
	return func() { close(until) }
}

// A text sent during a turn steers it; a key stops a turn.
func TestNeovimSteerAndStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	release := w.holdReply("begin")
	v := w.neovim("{}")
	v.startText("begin")
	v.waitScreen("Working…", "codex: working", "steers")
	v.recordScreen("working")
	v.typeKeys(":Codex<CR>iSAY: changed my mind<C-s>")
	v.waitLua("chat():find('changed my mind')")
	release()
	v.waitTurns()
	v.checkContains(v.chatText(), "## Codex\n\nchanged my mind\n")
	if got := v.lua("return #seen('CodexTurnStarted')"); got != "1" {
		t.Errorf("%s turns", got)
	}
	v.recordScreen("steered")

	w.holdReply("for ever")
	v.startText("for ever")
	v.waitLua("chat():find('for ever', 1, true) and select(2, chat():gsub('Working…', '')) == 2")
	v.typeKeys("<C-c>") // the cursor is still in the prompt
	v.waitTurns()
	v.checkContains(v.chatText(), "> stopped")
	v.waitScreen("codex: idle")

	// Two texts at once: the second joins the turn of the first.
	v.lua(`require("codex-bridge").send("SAY: left"); require("codex-bridge").send("SAY: right")`)
	v.waitLua("chat():find('\\nright\\n') and require('codex-bridge').about().state == 'idle'")

	// A turn stopped before its start.
	w.holdReply("at once")
	before := v.lua("return #seen('CodexTurnCompleted')")
	v.lua(`require("codex-bridge").send("at once"); require("codex-bridge").stop()`)
	v.waitLua("#seen('CodexTurnCompleted') > " + before)
	v.waitLua("events[#events].data.status == 'interrupted'")
}

// A thread left while a text is being sent is stopped; later texts go to the next thread.
func TestNeovimLeftAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{ checkpoints = false }") // the message is sent at once
	v.runText("SAY: hello")
	w.holdReply("to the old one")
	v.lua(`
local codex = require("codex-bridge")
thread = codex.about().thread.id
codex.send("to the old one")
codex.send("never sent", nil, function(err) unsent = err end)
codex.new()`)
	v.waitLua("unsent == 'you left the thread'")
	v.runText("SAY: to the new one")
	v.checkContains(v.chatText(), "## Codex\n\nto the new one\n")
	v.waitLua(`(function()
  local over
  require("codex-bridge").request("thread/read", { threadId = thread, includeTurns = true }, function(_, result)
    over = result and result.thread.turns[#result.thread.turns].status or ""
  end)
  vim.wait(10000, function() return over end)
  return over == "interrupted"
end)()`)
	if got := v.chatText(); strings.Contains(got, "to the old one") || strings.Contains(got, "stopped") {
		t.Error(got)
	}
}

// runWhileBlocked runs Lua code after Neovim was blocked until meanwhile returned.
func (v *inNeovim) runWhileBlocked(code string, meanwhile func()) {
	v.t.Helper()
	fifo := filepath.Join(v.root, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		v.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- v.Lua(v.ctx, "io.open(...):read('*a'); "+code, nil, fifo) }()
	gate, err := os.OpenFile(fifo, os.O_WRONLY, 0) // returns when Neovim reads
	if err != nil {
		v.t.Fatal(err)
	}
	meanwhile()
	gate.Close()
	if err := <-done; err != nil {
		v.t.Fatal(err)
	}
}

// A text sent just after the end of a turn, before Neovim knows of it, starts the next turn.
func TestNeovimSteerTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	release := w.holdReply("begin")
	v := w.neovim("{}")
	v.startText("begin")
	v.waitLua("chat():find('Working')")
	record := v.text("return require('codex-bridge').about().thread.path")
	v.runWhileBlocked(`require("codex-bridge").send("SAY: not too late")`, func() {
		release()
		for raw, _ := os.ReadFile(record); !bytes.Contains(raw, []byte(`"task_complete"`)); raw, _ = os.ReadFile(record) {
			select {
			case <-v.ctx.Done():
				v.t.Fatalf("the turn did not end in time:\n%s", raw)
			case <-time.After(10 * time.Millisecond): // no notification of changes to the file
			}
		}
	})
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "## Codex\n\nnot too late\n")
	if strings.Contains(v.chatText(), "not sent") {
		t.Error(v.chatText())
	}
}

// A turn that ends before Neovim reads the response to its start leaves no running state.
func TestNeovimShortTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.runText("SAY: hello")
	for range 5 {
		v.runText("SAY: short")
		if got := v.lua("return require('codex-bridge').about().turn == nil"); got != "true" {
			t.Fatal("the chat still shows a running turn")
		}
	}
}

// Many deltas cause few changes of the buffer, and the screen is not cleared.
func TestNeovimStream(t *testing.T) {
	t.Parallel()
	const deltas = 3000
	var text strings.Builder
	for i := range deltas {
		fmt.Fprintf(&text, "word%d ", i)
		if i%12 == 11 {
			text.WriteString("\n")
		}
	}
	w := newWorld(t, options{})
	w.model.Add(
		scripted.Step{When: "much", Reply: scripted.Reply{scripted.Text(text.String())}},
		scripted.Step{When: "again", Reply: scripted.Reply{scripted.Text(text.String())}},
	)
	v := w.neovim("{ flush_ms = 3600000 }")
	v.runText("SAY: hello")
	v.lua(`
writes, heard = 0, 0
vim.api.nvim_buf_attach(vim.fn.bufnr("codex://chat"), false, { on_lines = function() writes = writes + 1 end })
local chat = require("codex-bridge.chat").current()
local append = chat.append
chat.append = function(...) heard = heard + 1; return append(...) end`)
	// With a timer that never fires, only the ends of items write.
	v.runText("much")
	if got := v.lua("return { heard > 1000, writes < 20 }"); got != "[true,true]" {
		t.Errorf("[many deltas, few changes]: %s, %s", got, v.lua("return { heard, writes }"))
	}
	v.checkContains(v.chatText(), strings.TrimRight(text.String(), " \n"))

	// With the default settings.
	v.lua("require('codex-bridge').setup({ cmd = require('codex-bridge.config').current.cmd }); writes, heard = 0, 0")
	before, start := v.Screen().Counts(), time.Now()
	v.runText("again")
	took, after := time.Since(start), v.Screen().Counts()
	report := fmt.Sprintf("%s deltas in %v: %s changes of the buffer, %d pictures, %d characters drawn, %d screens wiped",
		v.lua("return heard"), took.Round(time.Millisecond), v.lua("return writes"), after.Flushes-before.Flushes, after.Cells-before.Cells, after.Clears-before.Clears)
	t.Log(report)
	keepTranscript(t, report)
	if after.Clears != before.Clears {
		t.Error("the screen was cleared")
	}
	v.waitScreen("word2999")
}
