//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lastUserText returns the text of the newest message that the model got from the user.
func (w *world) lastUserText() string {
	w.t.Helper()
	requests := w.model.Requests()
	return requests[len(requests)-1].UserText()
}

// laterPicker replaces vim.ui.select and vim.ui.input by ones that answer later, as those of plugins do. A test fills
// two lists: choose has a part of the label to choose in each picker, and answers has the text for each input. The code
// fills two others: pickers has the pickers that were shown, and notes has the notifications.
const laterPicker = `
choose, answers, pickers = {}, {}, {}
vim.ui.select = function(items, options, done)
  local labels = vim.tbl_map(options.format_item or tostring, items)
  pickers[#pickers + 1] = { prompt = options.prompt, kind = options.kind, labels = labels }
  local wanted = table.remove(choose, 1)
  vim.defer_fn(function()
    for i, label in ipairs(labels) do
      if wanted and label:find(wanted, 1, true) then
        return done(items[i]) -- some pickers give no index
      end
    end
    done(nil, nil)
  end, 20)
end
vim.ui.input = function(options, done)
  pickers[#pickers + 1] = { prompt = options.prompt, default = options.default }
  local answer = table.remove(answers, 1)
  vim.defer_fn(function() done(answer) end, 20)
end
notes = {}
vim.notify = function(text) notes[#notes + 1] = text end
function _G.noted(text) return table.concat(notes, "\n"):find(text, 1, true) end`

// promptLines returns the lines of the prompt.
func (v *inNeovim) promptLines() string {
	v.t.Helper()
	return v.text(`return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr("codex://prompt"), 0, -1, true), "|")`)
}

// An @ in the prompt opens a menu of files and folders, from git before Codex runs, and from Codex under the policy
// afterwards. 'omnifunc' and 'completefunc' give the same, also to plugins.
func TestNeovimMentions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy})
	w.write("workspace/source/sum.py", "a = 1\n")
	w.write("workspace/source/with blank.py", "a = 1\n")
	w.write("workspace/ignored/sum.txt", "\n")
	w.write("workspace/.gitignore", "ignored\n")
	w.write("workspace/.git/sum.py", "\n") // Codex finds it
	v := w.neovim("{}")
	v.typeKeys(":Codex<CR>ilook at @sum")
	v.waitScreen("@source/sum.py file")
	v.typeKeys("<C-n><C-y> please")
	v.waitLua("vim.api.nvim_get_current_line() == 'look at @source/sum.py please'")
	v.typeKeys(" in @sourc")
	v.waitScreen("@source/\n", "@source/sum.py\n")
	v.typeKeys("<C-n><C-y><C-s>")
	v.started++
	v.waitTurns()
	if got := w.lastUserText(); got != "look at @source/sum.py please in @source/" {
		t.Errorf("the model got %q", got)
	}

	// Codex runs now. Its search gives the files; without the policy's leave the list of git does.
	v.lua(`searched = {}
local session = require("codex-bridge.session")
local request = session.request
session.request = function(method, params, callback)
  request(method, params, function(err, result)
    if method == "fuzzyFileSearch" then searched[#searched + 1] = err and err.message or #result.files end
    callback(err, result)
  end)
end`)
	v.typeKeys("i@smpy")
	v.waitScreen("@source/sum.py file")
	v.typeKeys("<Esc>")
	v.waitLua("#searched > 0 and searched[#searched] == 2")
	v.lua("require('codex-bridge.files').search('smpy', function(entries) found = entries end)")
	v.waitLua("found")
	if got := v.lua("return found"); got != `["source/sum.py"]` {
		t.Errorf("the files are %s", got)
	}
	v.recordScreen("mentions")

	v.typeKeys("ggdGi(@blank<C-x><C-o>")
	v.waitLua(`vim.fn.complete_info().items[1] and vim.fn.complete_info().items[1].word == '@"source/with blank.py"'`)
	v.typeKeys("<Esc>")
	got := v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://prompt"))
vim.api.nvim_buf_set_lines(0, 0, -1, true, { "see @sum" })
vim.api.nvim_win_set_cursor(0, { 1, 8 })
vim.cmd("startinsert!")
local func = vim.fn[vim.bo.omnifunc] or require("codex-bridge.complete").func
return { require("codex-bridge.complete").func(1, ""), vim.tbl_map(function(item) return item.word end, require("codex-bridge.complete").func(0, "@sum")), vim.bo.omnifunc == vim.bo.completefunc }`)
	if got != `[4,["@source/sum.py"],true]` {
		t.Errorf("'omnifunc' gives %s", got)
	}
	v.typeKeys("<Esc>")
	// An address is no mention, and 'completeopt' is the user's again.
	if got := v.lua(`vim.api.nvim_buf_set_lines(0, 0, -1, true, { "me@sum" }) vim.api.nvim_win_set_cursor(0, { 1, 5 })
return { require("codex-bridge.complete").func(1, ""), vim.o.completeopt }`); !strings.HasPrefix(got, "[-3,") || strings.Contains(got, "noselect") {
		t.Errorf("without a mention: %s", got)
	}
}

// If the policy refuses Codex's search, the list of the folder is used.
func TestNeovimMentionsWithoutSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy + "[policy.methods]\n\"fuzzyFileSearch\" = \"deny\"\n"})
	w.write("workspace/source/sum.py", "a = 1\n")
	v := w.neovim("{}")
	v.runText("SAY: hello")
	v.typeKeys(":Codex<CR>i@smpy")
	v.waitScreen("@source/sum.py file")
	v.typeKeys("<C-n><C-y>")
	v.waitLua("vim.api.nvim_get_current_line() == '@source/sum.py'")
}

// A selection, problems and images are lines of the prompt, which the user deletes and undoes. They are sent with the text,
// and come back if it is not sent.
func TestNeovimChips(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/sum.py", "a = 1\nb = 2\nprint(a + b)\n")
	raw, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	w.write("workspace/dot.png", string(raw))
	v := w.neovim("{}")
	v.typeKeys(":edit sum.py<CR>")
	v.lua(`vim.diagnostic.set(vim.api.nvim_create_namespace("x"), 0, { { lnum = 1, col = 6, message = "unused b", severity = 2, source = "lint" } })`)
	v.typeKeys(":Codex<CR>imy draft<Esc>:wincmd t<CR>")
	v.typeKeys("ggVj:Codex<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://prompt'")
	v.typeKeys(":wincmd t<CR>:CodexDiagnostics<CR>:wincmd t<CR>:1CodexDiagnostics<CR>")
	v.waitScreen("There are no problems here.")
	v.typeKeys(":CodexImage dot.png<CR>")
	v.waitScreen("▪ sum.py, lines 1 to 2", "▪ sum.py, 1 problem", "▪ image dot.png", "dd removes", "my draft", "1 image ·")
	v.recordScreen("chips")
	if got := v.promptLines(); got != "▪ sum.py, lines 1 to 2|▪ sum.py, 1 problem|▪ image dot.png|my draft" {
		t.Errorf("the prompt has %s", got)
	}
	// Removed, brought back, removed again; a removed one is not sent.
	v.typeKeys(":Codex<CR>gg")
	v.lua(`require("codex-bridge.view").open()`)
	v.typeKeys("ggdd")
	v.waitLua("vim.fn.getline(1):find('problem')")
	v.typeKeys("u")
	v.waitLua("vim.fn.getline(1):find('lines 1 to 2')")
	v.typeKeys("3Gdd")
	v.lua(`vim.api.nvim_buf_set_lines(0, 2, 3, true, { "SAY: got it" })`)
	v.typeKeys("<CR>")
	v.started++
	v.waitTurns()
	want := "SAY: got it\n\nsum.py, lines 1 to 2:\n```python\na = 1\nb = 2\n```\n\nProblems of sum.py:\nsum.py:2:7: warn: unused b [lint]"
	if got := w.lastUserText(); got != want {
		t.Errorf("the model got %q, want %q", got, want)
	}
	requests := w.model.Requests()
	if bytes.Contains(requests[len(requests)-1].Body, []byte(`"input_image"`)) {
		t.Error("a removed image was sent")
	}
	if got := v.promptLines(); got != "" {
		t.Errorf("the prompt still has %s", got)
	}

	// The same lines with another text are another attachment.
	v.lua(`vim.api.nvim_buf_set_lines(vim.fn.bufnr("sum.py"), 0, 1, true, { "a = 10" })`)
	v.typeKeys(":wincmd t<CR>:1,2Codex<CR>")
	v.waitScreen("▪ sum.py, lines 1 to 2 (2)")
	// A message that is not sent comes back.
	v.lua(`require("codex-bridge").close()
require("codex-bridge.config").current.cmd = { "no-such-program" }`)
	v.waitLua("#seen('CodexExited') == 1")
	v.typeKeys("GAwhy?<C-s>")
	v.waitLua("chat():find('not sent')")
	if got := v.promptLines(); got != "▪ sum.py, lines 1 to 2 (2)|why?" {
		t.Errorf("the prompt has %s", got)
	}
}

// Each program of a clipboard gives the image; without one, or without an image, a message says so.
func TestNeovimClipboard(t *testing.T) {
	t.Parallel()
	raw, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"wl-paste":       "#!/bin/sh\ncat '%s/dot.png'\n",
		"xclip":          "#!/bin/sh\ncat '%s/dot.png'\n",
		"pngpaste":       "#!/bin/sh\n[ \"$1\" = - ] && cat '%s/dot.png'\n",
		"powershell.exe": "#!/bin/sh\nbase64 '%s/dot.png'\n",
		"":               "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			w.write("workspace/dot.png", string(raw))
			bin := filepath.Join(w.root, "bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{"sh", "cat", "base64"} {
				if err := os.Symlink("/bin/"+tool, filepath.Join(bin, tool)); err != nil {
					t.Fatal(err)
				}
			}
			if name != "" {
				if err := os.Chmod(w.write("bin/"+name, fmt.Sprintf(script, w.workspace)), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			w.env = append(w.env, "DISPLAY=:7", "WAYLAND_DISPLAY=wayland-7")
			v := w.neovim("{}")
			v.lua("vim.env.PATH = ...", bin)
			v.typeKeys(":Codex<CR><M-v>")
			if name == "" {
				v.waitScreen("no program can read images from the clipboard")
				return
			}
			v.waitScreen("▪ image ", "1 image ·")
			if got := v.lua(`local path = require("codex-bridge.chips").of(vim.fn.getline(1)).image
return vim.fn.readblob(path) == vim.fn.readblob("dot.png")`); got != "true" {
				t.Error("the image is another one")
			}
			v.typeKeys("<CR>") // a message without a text
			v.started++
			v.waitTurns()
			requests := w.model.Requests()
			if !bytes.Contains(requests[len(requests)-1].Body, []byte(`"input_image"`)) {
				t.Error("the image was not sent")
			}
			if err := os.Chmod(w.write("bin/"+name, "#!/bin/sh\nexit 1\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			v.typeKeys("<M-v>")
			v.waitScreen("the clipboard has no image")
		})
	}
}

// Commands of the prompt complete, run, and leave the attachments. An unknown one is named, and can be sent as text. A path
// is a text.
func TestNeovimSlashCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy})
	w.write("workspace/a.txt", "a\n")
	v := w.neovim("{ thread = { sandbox = 'workspace-write' } }")
	v.runText("SAY: hello")
	v.lua(laterPicker)
	v.typeKeys(":Codex<CR>i/")
	v.waitScreen("/compact", "/diff", "/model", "/new", "/permissions", "/review", "/status")
	v.typeKeys("statu")
	v.waitScreen("Show the gate, the policy")
	v.typeKeys("<C-n><C-y><C-s>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://status'")
	v.typeKeys("q")

	v.typeKeys(":Codex<CR>i/nothing at all<C-s>")
	v.waitLua("#pickers == 1")
	v.checkContains(v.lua("return pickers[1]"), "There is no command /nothing.", "Send as text", "Back to the prompt")
	v.waitLua("vim.api.nvim_get_mode().mode == 'n'")
	if got := v.promptLines(); got != "/nothing at all" {
		t.Errorf("the prompt has %s", got)
	}
	// The user writes on while the picker is open.
	v.lua(`choose = { "Send" }
local select = vim.ui.select
vim.ui.select = function(items, options, done)
  vim.ui.select = select
  select(items, options, function(...)
    vim.api.nvim_buf_set_lines(vim.fn.bufnr("codex://prompt"), -1, -1, true, { "more" })
    done(...)
  end)
end`)
	v.typeKeys("<CR>")
	v.started++
	v.waitTurns()
	if got := w.lastUserText(); got != "/nothing at all" {
		t.Errorf("the model got %q", got)
	}
	if got := v.promptLines(); got != "/nothing at all|more" {
		t.Errorf("the prompt lost what the user wrote: %s", got)
	}
	v.lua(`vim.api.nvim_buf_set_lines(vim.fn.bufnr("codex://prompt"), 0, -1, true, { "" })`)
	v.typeKeys("i/etc/hosts is a path<C-s>")
	v.started++
	v.waitTurns()
	if got := w.lastUserText(); got != "/etc/hosts is a path" {
		t.Errorf("the model got %q", got)
	}

	// A review by instructions, a review that the user chooses, and a summary.
	v.typeKeys("i/review SAY: it is fine<C-s>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "### Codex reviews\n\nSAY: it is fine\n", "## Review\n\nit is fine\n")
	v.lua(`choose, answers = { "By your instructions" }, { "SAY: fine again" }`)
	v.typeKeys(":Codex /review<CR>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "## Review\n\nfine again\n")
	v.typeKeys(":Codex /compact<CR>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "### Codex compacted the conversation\n")

	// As arguments of :Codex they complete.
	if got := v.lua(`return { vim.fn.getcompletion("Codex /re", "cmdline"), vim.fn.getcompletion("Codex comp", "cmdline"), vim.fn.getcompletion("Codex look at @a.t", "cmdline") }`); got != `[["/rename","/review"],["/compact"],["@a.txt"]]` {
		t.Errorf("completion gives %s", got)
	}
	v.typeKeys(":Codex /new<CR>")
	v.waitLua("chat() == '' and require('codex-bridge').about().thread == nil")
	v.typeKeys(":Codex /compact<CR>")
	v.waitLua("noted('There is no thread yet')")

	// During a turn a review is refused.
	release := w.holdReply("begin")
	v.startText("begin")
	v.waitScreen("Working…")
	v.typeKeys(":Codex /review now<CR>")
	v.waitLua("noted('a turn is running')")
	release()
	v.waitTurns()
}

// /diff shows the changes of the working tree and new files, and runs no program that the repository names.
func TestNeovimDiffOfWorkingTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\n")
	w.write("workspace/.gitattributes", "*.txt diff=evil\n")
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"commit", "-qm", "first"}, {"config", "diff.evil.textconv", "touch converted; cat"},
		{"config", "diff.evil.command", "touch external; true"}, {"config", "core.fsmonitor", "touch monitored; true"},
	} {
		w.git("workspace", args...)
	}
	v := w.neovim("{}")
	v.typeKeys(":Codex /diff<CR>")
	v.waitScreen("The working tree has no changes.")
	w.write("workspace/poem.txt", "one\nzwei\u202e\n")
	w.write("workspace/new.txt", "new\n")
	v.typeKeys(":Codex /diff<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://diff'")
	v.checkContains(v.text(`return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")`), "-two\n+zwei\\u202e", "New file: new.txt")
	for _, name := range []string{"converted", "external", "monitored"} {
		if w.workspaceHasFile(name) {
			t.Errorf("a program of the repository ran: %s", name)
		}
	}
}
