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

	"codex-bridge/cmd/internal/scripted"
)

// holds has the model wait in its next answer to when, until the returned function is called.
func (w *world) holds(when string) (release func()) {
	until := make(chan struct{})
	w.model.Add(scripted.Step{When: when, Reply: scripted.Reply{scripted.Paused{Until: until}}})
	return func() { close(until) }
}

// What is sent while a turn runs steers it; a turn is stopped by a key.
func TestNeovimSteerAndStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	release := w.holds("begin")
	v := w.neovim("{}")
	v.begins("begin")
	v.sees("Working…", "codex: working", "steers")
	v.shot("working")
	v.types(":Codex<CR>iSAY: changed my mind<C-s>")
	v.until("chat():find('changed my mind')")
	release()
	v.ends()
	v.wants(v.chat(), "## Codex\n\nchanged my mind\n")
	if got := v.lua("return #seen('CodexTurnStarted')"); got != "1" {
		t.Errorf("%s turns", got)
	}
	v.shot("steered")

	w.holds("for ever")
	v.begins("for ever")
	v.until("chat():find('for ever', 1, true) and select(2, chat():gsub('Working…', '')) == 2")
	v.types(":Codex<CR><C-c>")
	v.ends()
	v.wants(v.chat(), "> stopped")
	v.sees("codex: idle")

	// Two texts at once: the second finds the turn that the first one began.
	v.lua(`require("codex-bridge").send("SAY: left"); require("codex-bridge").send("SAY: right")`)
	v.until("chat():find('\\nright\\n') and require('codex-bridge').about().state == 'idle'")

	// And one that is stopped before it has begun.
	w.holds("at once")
	before := v.lua("return #seen('CodexTurnCompleted')")
	v.lua(`require("codex-bridge").send("at once"); require("codex-bridge").stop()`)
	v.until("#seen('CodexTurnCompleted') > " + before)
	v.until("events[#events].data.status == 'interrupted'")
}

// A thread that is left while a text is on its way to it is stopped, and what follows
// goes to the next one.
func TestNeovimLeftAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.says("SAY: hello")
	w.holds("to the old one")
	v.lua(`
local codex = require("codex-bridge")
thread = codex.about().thread.id
codex.send("to the old one")
codex.send("never sent", nil, function(err) unsent = err end)
codex.new()`)
	v.until("unsent == 'you left the thread'")
	v.says("SAY: to the new one")
	v.wants(v.chat(), "## Codex\n\nto the new one\n")
	v.until(`(function()
  local over
  require("codex-bridge").request("thread/read", { threadId = thread, includeTurns = true }, function(_, result)
    over = result and result.thread.turns[#result.thread.turns].status or ""
  end)
  vim.wait(10000, function() return over end)
  return over == "interrupted"
end)()`)
	if got := v.chat(); strings.Contains(got, "to the old one") || strings.Contains(got, "stopped") {
		t.Error(got)
	}
}

// blocked runs code of Lua while Neovim hears nothing of codex: it waits, before the code,
// until meanwhile has returned.
func (v *inNeovim) blocked(code string, meanwhile func()) {
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

// What is sent when the turn has just ended, and nobody knows yet, is not lost: it begins
// the next turn.
func TestNeovimSteerTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	release := w.holds("begin")
	v := w.neovim("{}")
	v.begins("begin")
	v.until("chat():find('Working')")
	record := v.text("return require('codex-bridge').about().thread.path")
	v.blocked(`require("codex-bridge").send("SAY: not too late")`, func() {
		release()
		for raw, _ := os.ReadFile(record); !bytes.Contains(raw, []byte(`"task_complete"`)); raw, _ = os.ReadFile(record) {
			select {
			case <-v.ctx.Done():
				v.t.Fatalf("the turn does not end:\n%s", raw)
			case <-time.After(10 * time.Millisecond): // the file tells nobody
			}
		}
	})
	v.said++
	v.ends()
	v.wants(v.chat(), "## Codex\n\nnot too late\n")
	if strings.Contains(v.chat(), "not sent") {
		t.Error(v.chat())
	}
}

// A turn that is over before the answer to its start is read leaves nothing running.
func TestNeovimShortTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.says("SAY: hello")
	for range 5 {
		v.says("SAY: short")
		if got := v.lua("return require('codex-bridge').about().turn == nil"); got != "true" {
			t.Fatal("it still runs")
		}
	}
}

// Many deltas make few changes of the buffer, and no picture is wiped.
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
	v.says("SAY: hello")
	v.lua(`
writes, heard = 0, 0
vim.api.nvim_buf_attach(vim.fn.bufnr("codex://chat"), false, { on_lines = function() writes = writes + 1 end })
local append = require("codex-bridge.chat").append
require("codex-bridge.chat").append = function(...) heard = heard + 1; return append(...) end`)
	// With a timer that never fires: only the ends of items write.
	v.says("much")
	if got := v.lua("return { heard > 1000, writes < 20 }"); got != "[true,true]" {
		t.Errorf("[many deltas, few changes]: %s, %s", got, v.lua("return { heard, writes }"))
	}
	v.wants(v.chat(), strings.TrimRight(text.String(), " \n"))

	// As people have it.
	v.lua("require('codex-bridge').setup({ cmd = require('codex-bridge.config').current.cmd }); writes, heard = 0, 0")
	before, start := v.Screen().Counts(), time.Now()
	v.says("again")
	took, after := time.Since(start), v.Screen().Counts()
	report := fmt.Sprintf("%s deltas in %v: %s changes of the buffer, %d pictures, %d characters drawn, %d screens wiped",
		v.lua("return heard"), took.Round(time.Millisecond), v.lua("return writes"), after.Flushes-before.Flushes, after.Cells-before.Cells, after.Clears-before.Clears)
	t.Log(report)
	keep(t, report)
	if after.Clears != before.Clears {
		t.Error("the screen was wiped")
	}
	v.sees("word2999")
}
