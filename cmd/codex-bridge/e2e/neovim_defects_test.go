//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A stopped turn leaves no tool "running" and no open fence.
func TestNeovimStopDuringTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	// Measured with Codex 0.169: the first output of a command may come without a delta.
	v.startText(`CALL: exec_command {"cmd":"while :; do echo begun; sleep 0.2; done","yield_time_ms":30000}`)
	v.waitLua("chat():find('\\nbegun', 1, true)")
	v.typeKeys(":CodexStop<CR>")
	v.waitTurns()
	v.runText("SAY: after")
	chat := v.chatText()
	if n := strings.Count(chat, "\n````"); n%2 != 0 {
		t.Errorf("a fence is open:\n%s", chat)
	}
	v.checkContains(chat, "## Codex\n\nafter\n")
	if screen := v.Screen().Text(); strings.Contains(screen, "running") || !strings.Contains(screen, "stopped") {
		t.Errorf("the state of the tool on the screen:\n%s", screen)
	}
}

// A command that runs on after its turn is complete when it ends.
func TestNeovimCommandOutlivesItsTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.runText(`CALL: exec_command {"cmd":"while [ ! -e go ]; do echo begun; sleep 0.2; done","yield_time_ms":1000}`)
	v.waitScreen("while", "running")
	w.write("workspace/go", "")
	v.waitScreen("▸ $ while", "exit 0")
	chat := v.chatText()
	if n := strings.Count(chat, "\n````"); n%2 != 0 || !strings.Contains(chat, "begun") {
		t.Errorf("the output of the command:\n%s", chat)
	}
}

// A text that the user sends scrolls the chat to its end, also after they have scrolled up.
func TestNeovimFollowsWhatIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.runText("SAY: " + strings.Repeat("many words ", 200))
	v.lua(`vim.api.nvim_win_set_cursor(vim.fn.bufwinid("codex://chat"), { 1, 0 })`)
	v.runText("SAY: the newest")
	v.waitLua(`vim.api.nvim_win_get_cursor(vim.fn.bufwinid("codex://chat"))[1] == vim.api.nvim_buf_line_count(vim.fn.bufnr("codex://chat"))`)
	v.waitScreen("the newest")
}

// A quoted selection and the output of a tool can have fences.
func TestNeovimFences(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/doc.md", "```sh\nls\n```\n")
	w.write("workspace/out.txt", "````\nfour\n````\n")
	v := w.neovim("{}")
	v.typeKeys(":edit doc.md<CR>")
	v.typeKeys(":1,3Codex what is this<CR>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "doc.md, lines 1 to 3:\n````markdown\n```sh\nls\n```\n````\n")
	v.runText("RUN: cat out.txt")
	v.checkContains(v.chatText(), "\n`````\n````\nfour\n````\n`````\n")
}

// After a failed start the statusline does not say "working".
func TestNeovimStatuslineAfterFailedStart(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{config: "[policy]\nsandbx = \"read-only\"\n"}).neovim("{}")
	v.lua(`vim.o.statusline = "<%{v:lua.require'codex-bridge'.status()}>"
		require("codex-bridge").show()
		require("codex-bridge").send("hello")
		vim.cmd.redrawstatus({ bang = true })`)
	v.waitScreen("<codex: working>")
	v.waitLua("chat():find('not sent')")
	v.waitScreen("<>")
	if strings.Contains(v.Screen().Text(), "codex: working") {
		t.Error(v.Screen().Text())
	}
}

// Codex unloads a thread that the user has left.
func TestNeovimLeavesThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.runText("SAY: first")
	v.lua(`left = require("codex-bridge").about().thread.id`)
	v.typeKeys(":CodexNew<CR>")
	v.runText("SAY: second")
	got := v.text(`local status
require("codex-bridge").request("thread/unsubscribe", { threadId = left }, function(err, result) status = err and err.message or result.status end)
vim.wait(60000, function() return status end)
return status`)
	if got != "notSubscribed" && got != "notLoaded" {
		t.Errorf("the left thread was still %s", got)
	}
}

// An empty Lua table is sent as an object, with both framings.
func TestNeovimEmptyParams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	for name, setup := range map[string]string{"bridge": "{}", "plain codex": fmt.Sprintf("{ cmd = { %q, 'app-server' } }", codexPath)} {
		v := w.neovim(setup)
		got := v.text(`local done
			require("codex-bridge").request("model/list", {}, function(err) done = err and err.message or "ok" end)
			vim.wait(60000, function() return done end)
			return done or "no answer"`)
		if got != "ok" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A form continues after an optional field without a value, and asks only the field again whose value
// is not valid. Defaults come first; required fields are marked. A form that the user leaves keeps its
// values.
func TestNeovimForm(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{}).neovim("{}")
	got := v.lua(`
local form = require("codex-bridge.requests.form")
local schema = { required = { "b_count", "d_mail" }, properties = {
  a_size = { type = "number" }, b_count = { type = "integer", minimum = 2 }, c_on = { type = "boolean", default = true },
  d_mail = { type = "string", format = "email" }, e_kind = { type = "string", enum = { "x", "y" }, default = "y" }, f_note = { type = "string", default = "n" },
} }
local asked, warned, answers = {}, {}, {}
vim.notify = function(text) warned[#warned + 1] = text end
vim.ui.input = function(options, done)
  asked[#asked + 1] = options.prompt .. (options.default or "")
  done(table.remove(answers, 1))
end
vim.ui.select = function(items, options, done)
  local labels = vim.tbl_map(options.format_item, items)
  asked[#asked + 1] = options.prompt .. ": " .. table.concat(labels, "/")
  done(items[1])
end
local draft, result = {}, "none"
answers = { "", "2.5", "1", "3", "not an email" }
form.ask(schema, draft, function(content) result = content end)
local first = { asked = asked, warned = warned, left = result == nil }
asked, warned, answers = {}, {}, { "", "3", "a@b.example", "n" }
form.ask(schema, draft, function(content) result = content end)
return { first = first, asked = asked, warned = warned, content = result }`)
	for _, want := range []string{
		`"first":{"asked":["a_size: ","b_count (required): ","b_count (required): 2.5","b_count (required): 1","c_on: Yes/No/No value","d_mail (required): ","d_mail (required): not an email"],"left":true,` +
			`"warned":["b_count: enter a whole number.","b_count: enter at least 2.","d_mail: enter an e-mail address."]}`,
		`"asked":["a_size: ","b_count (required): 3","c_on: Yes/No/No value","d_mail (required): ","e_kind: y/x/No value","f_note: n"]`,
		`"content":{"b_count":3,"c_on":true,"d_mail":"a@b.example","e_kind":"y","f_note":"n"}`,
	} {
		v.checkContains(got, want)
	}
}

// Texts for the user are only in strings.lua.
func TestNeovimStringsAreInOneFile(t *testing.T) {
	t.Parallel()
	root := filepath.Join(repositoryRoot(t), "editors", "nvim")
	text := regexp.MustCompile(`(vim\.notify|notice|[^.]error|health\.(ok|warn|error|info|start)|chat\.card|prompt =|label =|title =|desc =|placeholder)\(?\s*\(?["'][^"']*[a-z] [a-z]`)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" || filepath.Base(path) == "strings.lua" {
			return err
		}
		raw, err := os.ReadFile(path)
		for i, line := range strings.Split(string(raw), "\n") {
			if text.MatchString(line) {
				t.Errorf("%s:%d has a text: %s", path, i+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, "lua", "codex-bridge", "strings.lua"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range regexp.MustCompile(`(?m)^M\.\w+`).FindAllString(string(raw), -1) {
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
}
