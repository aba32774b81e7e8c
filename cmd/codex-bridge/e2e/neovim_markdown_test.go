//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// groupsAt returns the highlight groups and hidden parts at the first place of a text in the chat.
const groupsAt = `
function _G.marks(text)
  local buf = vim.fn.bufnr("codex://chat")
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
    local column = line:find(text, 1, true)
    if column then
      local found = {}
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, { row - 1, column - 1 }, { row - 1, column - 1 }, { details = true, overlap = true })) do
        found[#found + 1] = mark[4].conceal == "" and "hidden" or mark[4].hl_group
      end
      return table.concat(found, " ")
    end
  end
end`

const richText = "A **bold** word, `code`, and [a page](https://example.org/page).\n\n" +
	"```lua\nlocal x = 1\n```\n\n```python\ndef add(): return 1\n```\n\n```nosuchlanguage\nplain\n```\n\nThe end"

// Messages are rendered by treesitter: hidden marks, code in the colours of its language, also without a parser of that
// language. The text of commands, outputs and cards is shown as it is.
func TestNeovimMarkdown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	w.model.Add(scripted.Step{When: "render", Reply: scripted.Reply{scripted.Text(richText)}})
	v := w.neovim("{ thread = { sandbox = 'workspace-write' }, window = { position = 'bottom', height = 24 } }")
	v.lua(groupsAt)
	v.runText("please render it")
	v.lua(`vim.api.nvim_win_call(vim.fn.bufwinid("codex://chat"), function() vim.fn.search("^The end", "w") vim.cmd("normal! zb") end)`)
	v.waitScreen("A bold word, code, and [a page](https://example.org/page).", "local x = 1")
	v.recordScreen("rendered")
	for text, want := range map[string]string{
		"**bold": "hidden", "bold**": "@markup.strong", "`code": "hidden", "local x": "@keyword.lua", "def add": "pythonStatement", "## You": "Title",
	} {
		// pythonStatement is linked to Statement.
		want = strings.Replace(want, "pythonStatement", "Statement", 1)
		if got := v.text("return marks(...)", text); !strings.Contains(got, want) {
			t.Errorf("%q has %q, not %s", text, got, want)
		}
	}
	if screen := v.Screen().Text(); strings.Contains(screen, "**bold") || strings.Contains(screen, "```") {
		t.Errorf("marks are visible:\n%s", screen)
	}
	// The line of the cursor shows its marks.
	v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://chat")) vim.fn.search("A \\*\\*bold", "w")`)
	v.waitScreen("A **bold** word, `code`")

	v.startText("RUN: echo '**not bold** `x`'")
	v.waitScreen("ga  Accept once")
	v.accept()
	v.waitTurns()
	v.lua(`vim.cmd("normal! zR") vim.fn.search("echo '", "bw") vim.cmd("normal! jzt")`)
	v.waitScreen("**not bold** `x`")
	v.runText("SAY: **as** written")
	v.runText("RUN: touch forbidden **a** `b`")
	v.waitLua("chat():find('Refused by the policy')")
	if got := v.text("return marks('> What   touch forbidden **a**') .. marks('SAY: **as** written')"); strings.Contains(got, "hidden") {
		t.Errorf("a command, or a text of the user, has hidden parts: %s", got)
	}
	v.lua(`vim.fn.search("> What   touch forbidden", "w") vim.cmd("normal! jzz")`)
	v.waitScreen("What   touch forbidden **a** `b`")

	// A patch has the colours of a diff.
	v.startText("PATCH: new.txt\nfresh")
	v.waitScreen("ga  Accept once")
	v.accept()
	v.waitTurns()
	if got := v.text("return marks('+fresh')"); !strings.Contains(got, "Added") {
		t.Errorf("an added line has %q", got)
	}

	// More than 250 blocks in one another would end Neovim: they stay as they are.
	for name, text := range map[string]string{"quotes": strings.Repeat("> ", 400), "lists": strings.Repeat("- ", 400)} {
		w.model.Add(scripted.Step{When: "say " + name, Reply: scripted.Reply{scripted.Text(text + "\n\nthe end of " + name)}})
		v.runText("please say " + name)
		v.waitLua("chat():find('the end of " + name + "', 1, true)")
	}

	// Later messages are rendered too.
	v.runText("SAY: **more** to come")
	v.waitLua("chat():find('## Codex\\n\\n**more** to come', 1, true)")
	v.lua(`vim.fn.search("^[*][*]more", "bw") vim.cmd("normal! k")`)
	v.waitScreen("\nmore to come")
}

// Without the parsers of markdown the chat has regex syntax, and hides nothing.
func TestNeovimMarkdownWithoutParsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.model.Add(scripted.Step{When: "render", Reply: scripted.Reply{scripted.Text(richText)}})
	v := w.neovim("{ window = { position = 'bottom', height = 24 } }")
	v.lua(`vim.treesitter.get_string_parser = function() error("no parser") end`)
	v.runText("please render it")
	v.lua(`vim.api.nvim_win_call(vim.fn.bufwinid("codex://chat"), function() vim.fn.search("^The end", "w") vim.cmd("normal! zb") end)`)
	v.waitScreen("A **bold** word, `code`", "```lua")
	if got := v.text(`local buf = vim.fn.bufnr("codex://chat")
return vim.api.nvim_buf_call(buf, function()
  vim.fn.search("bold")
  return vim.fn.synIDattr(vim.fn.synID(vim.fn.line("."), vim.fn.col("."), 1), "name")
end)`); got != "markdownBold" {
		t.Errorf("the syntax is %q", got)
	}
}

// Keys open files and URLs of the chat; a URL is shown and confirmed before.
func TestNeovimLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/source/sum.py", strings.Repeat("line\n", 20))
	w.write("workspace/with blank.py", "one\ntwo\n")
	v := w.neovim("{}")
	v.lua(laterPicker)
	v.lua(`opened = {} vim.ui.open = function(url) opened[#opened + 1] = url end`)
	v.runText("SAY: See source/sum.py:7:3, `with blank.py:2`, [the sum](source/sum.py#L12), a/source/sum.py, no/such.py:3, and [here](https://example.org/a?b=1\u202e).")
	press := func(text, keys string) {
		t.Helper()
		v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://chat"))
vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })
vim.fn.search("^## Codex", "bw") vim.fn.search("\\V" .. ..., "")`, text)
		v.typeKeys(keys)
	}
	at := func(file string, line, column int) string {
		return "vim.fn.expand('%:t') == '" + file + "' and vim.deep_equal(vim.api.nvim_win_get_cursor(0), { " + string(rune('0'+line/10)) + string(rune('0'+line%10)) + ", " + string(rune('0'+column)) + " })"
	}
	press("um.py:7", "gf")
	v.waitLua(at("sum.py", 7, 2))
	press("blank", "<CR>")
	v.waitLua(at("with blank.py", 2, 0))
	press("he sum", "gx")
	v.waitLua(at("sum.py", 12, 0))
	press("a/source", "gF")
	v.waitLua("vim.fn.expand('%:t') == 'sum.py' and vim.bo.buftype == ''")
	press("such", "gf")
	v.waitLua("noted('There is no file or URL under the cursor.')")
	press("here", "<CR>") // not confirmed
	v.waitLua("#pickers == 1")
	v.checkContains(v.lua("return pickers[1]"), `Open \"https://example.org/a?b=1\\u202e\"?`, `"kind":"codex-url"`)
	v.lua(`choose = { "Open the URL" }`)
	press("here", "gx")
	v.waitLua("#opened == 1")
	if got := v.lua("return #pickers"); got != "2" {
		t.Errorf("%s pickers", got)
	}
	// <CR> opens a fold.
	v.runText("RUN: seq 1 3")
	v.waitScreen("▸ $ ")
	v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://chat")) vim.fn.search("seq 1 3", "bw")`)
	v.waitLua("vim.fn.foldclosed('.') > 0")
	v.typeKeys("<CR>")
	v.waitLua("vim.fn.foldclosed('.') == -1")
}

// :Codex opens the chat, moves to it, and closes it.
func TestNeovimToggle(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{}).neovim("{}")
	v.typeKeys(":Codex<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://prompt'")
	v.typeKeys("ikept<Esc>:wincmd t<CR>:Codex<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://prompt'")
	v.typeKeys(":Codex<CR>")
	v.waitLua("#vim.api.nvim_list_wins() == 1")
	v.typeKeys(":Codex<CR>")
	v.waitScreen("kept")
	v.typeKeys(":wincmd k<CR>:Codex<CR>")
	v.waitLua("#vim.api.nvim_list_wins() == 1")
}
