//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"testing"
)

// cmpEnv is the folder of an nvim-cmp, which .ci/long gets; empty: only the source is tried, without its menu.
const cmpEnv = "CODEX_BRIDGE_NVIM_CMP"

// The source for nvim-cmp gives files after @ and commands after /, with the range that they replace.
func TestNeovimCmp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimPolicy})
	w.write("workspace/source/sum.py", "a = 1\n")
	w.write("workspace/source/with blank.py", "a = 1\n")
	if folder := os.Getenv(cmpEnv); folder != "" {
		w.neovim("{ complete = false }").inCmp(folder)
	}
	v := w.neovim("{ complete = false }")
	v.lua(`package.loaded.cmp = { register_source = function(name, source) sources = sources or {} sources[#sources + 1] = { name = name, source = source } end }`)
	v.typeKeys(":Codex<CR>iq<Esc>iq<Esc>")
	v.waitLua("sources ~= nil")
	ask := func(line string) string {
		v.lua(fmt.Sprintf(`found = nil
local win = vim.fn.bufwinid("codex://prompt")
vim.api.nvim_set_current_win(win)
vim.api.nvim_buf_set_lines(0, 0, -1, true, { %q })
vim.cmd("startinsert!")`, line))
		v.waitLua(`vim.fn.mode() == "i"`)
		v.lua(`local line = vim.api.nvim_get_current_line()
vim.api.nvim_win_set_cursor(0, { 1, #line })
sources[1].source:complete({ context = { cursor = { line = 0, character = #line } } }, function(answer) found = answer end)`)
		v.waitLua("found ~= nil")
		return v.lua(`return { #sources, sources[1].name, sources[1].source:is_available(), found.isIncomplete or false,
  vim.tbl_map(function(item) return { item.textEdit.newText, item.textEdit.range.start.character, item.textEdit.range["end"].character } end, found.items) }`)
	}
	for line, want := range map[string]string{
		"look at @sum": `[1,"codex-bridge",true,true,[["@source/sum.py",8,12]]]`,
		"see @blank":   `[1,"codex-bridge",true,true,[["@\"source/with blank.py\"",4,10]]]`,
		"/mod":         `[1,"codex-bridge",true,true,[["/model",0,4]]]`,
		"me@sum":       `[1,"codex-bridge",true,false,[]]`,
	} {
		if got := ask(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := v.lua(`vim.cmd("enew") return sources[1].source:is_available()`); got != "false" {
		t.Error("the source is available outside the prompt")
	}
}

// inCmp tries the menu of a real nvim-cmp.
func (v *inNeovim) inCmp(folder string) {
	v.t.Helper()
	v.lua(fmt.Sprintf(`vim.opt.runtimepath:append(%q)
vim.cmd.runtime("plugin/cmp.lua")
cmp = require("cmp")
cmp.setup({ sources = { { name = "codex-bridge" } }, mapping = cmp.mapping.preset.insert({ ["<CR>"] = cmp.mapping.confirm({ select = false }) }) })
function _G.menu() return cmp.visible() and vim.tbl_map(function(entry) return entry.completion_item.label end, cmp.get_entries()) or {} end`, folder))
	v.typeKeys(":Codex<CR>i")
	v.waitLua(`#cmp.get_registered_sources() == 1`)
	v.typeKeys("look at @")
	v.waitLua(`vim.list_contains(menu(), "@source/")`)
	v.typeKeys("smpy")
	v.waitLua(`vim.deep_equal(menu(), { "@source/sum.py" })`)
	v.typeKeys("<C-n><CR>")
	v.waitLua(`vim.api.nvim_get_current_line() == "look at @source/sum.py" and not cmp.visible() and not cmp.core.suspending`)
	v.typeKeys(" and @")
	v.waitLua(`vim.list_contains(menu(), "@source/")`)
	v.typeKeys("source/")
	v.waitLua(`vim.list_contains(menu(), "@source/sum.py")`)
	v.typeKeys("wi")
	v.waitLua(`vim.deep_equal(menu(), { '@"source/with blank.py"' })`)
	v.recordScreen("cmp")
	v.typeKeys("<C-n><CR>")
	v.waitLua(`vim.api.nvim_get_current_line() == 'look at @source/sum.py and @"source/with blank.py"' and not cmp.visible() and not cmp.core.suspending`)
	v.typeKeys("<Esc>dd")
	v.waitLua(`vim.fn.mode() == "n"`)
	v.typeKeys("i")
	v.waitLua(`vim.fn.mode() == "i"`)
	v.typeKeys("/")
	v.waitLua(`#menu() > 10 and vim.list_contains(menu(), "/review")`)
	v.typeKeys("mo")
	v.waitLua(`menu()[1] == "/model"`)
	v.typeKeys("<C-e><Esc>")
	v.typeKeys(":qall!<CR>")
}
