//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// symbolServer is a language server inside of Neovim that knows one function.
const symbolServer = `
local buf = vim.fn.bufnr("sum.py")
vim.lsp.start({ name = "symbols", cmd = function()
  local closing = false
  return {
    request = function(method, params, callback)
      if method == "initialize" then
        callback(nil, { capabilities = { documentSymbolProvider = true } })
      else
        vim.defer_fn(function()
          local range = { start = { line = 2, character = 0 }, ["end"] = { line = 2, character = 5 } }
          callback(nil, { { name = "add", kind = 12, range = range, selectionRange = range } })
        end, 10)
      end
      return true, 1
    end,
    notify = function() return true end,
    is_closing = function() return closing end,
    terminate = function() closing = true end,
  }
end }, { bufnr = buf })`

// The model calls the tools of the editor, through the bridge and without one.
func TestNeovimTools(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]string{
		"bridge":      "{}",
		"codex alone": fmt.Sprintf("{ cmd = { %q, 'app-server' } }", codexPath),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			w.write("workspace/sum.py", "a = 1\nb = 2\ndef add(): return a + b\n")
			v := w.neovim(setup)
			v.types(":edit sum.py<CR>")
			v.lua(`vim.diagnostic.set(vim.api.nvim_create_namespace("x"), 0, { { lnum = 1, col = 6, message = "unused b", severity = 2, source = "lint" } })`)
			v.types("ggVj<Esc>")
			for _, call := range []struct{ tool, want string }{
				{"editor_diagnostics {}", "sum.py:2:7: warn: unused b [lint]"},
				{`editor_diagnostics {"path":"sum.py"}`, "sum.py:2:7: warn: unused b [lint]"},
				{`editor_diagnostics {"path":"other.py"}`, "other.py is not open in the editor"},
				{"editor_buffers {}", "sum.py (current, visible)"},
				{"editor_selection {}", "sum.py, line 2 of 3; selected, lines 1 to 2:\na = 1\nb = 2"},
				{"editor_symbols {}", "no language server offers the symbols of sum.py"},
			} {
				v.says("CALL: " + call.tool)
				v.wants(w.told(), call.want)
			}
			v.lua(symbolServer)
			v.until("#vim.lsp.get_clients({ method = 'textDocument/documentSymbol' }) == 1")
			v.says(`CALL: editor_symbols {"path":"sum.py"}`)
			v.wants(w.told(), "Function add, line 3")
			v.shot("tools")
		})
	}
}

// Without a bridge the plugin speaks with codex itself: approvals, the end of the process.
func TestNeovimWithoutBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim(fmt.Sprintf("{ cmd = { %q, 'app-server' } }", codexPath))
	v.says("SAY: good day")
	v.sees("no bridge")
	v.begins("ESCALATE: touch accepted")
	v.sees("1: Accept")
	v.types("1<CR>")
	v.ends()
	if !w.exists("accepted") {
		t.Error("what was accepted did not run")
	}
	v.lua("require('codex-bridge').close()")
	v.until("#seen('CodexExited') == 1")
	v.says("SAY: after")
	v.wants(v.chat(), "## Codex\n\nafter\n")
}

// A picture goes with the next text, and with no other.
func TestNeovimImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	raw, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.workspace, "dot.png"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	// The clipboard's program, for a person whose clipboard has that picture.
	bin := filepath.Join(w.root, "bin")
	script := w.write("bin/xclip", "#!/bin/sh\ncat dot.png\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "DISPLAY=:7", "PATH="+bin+":"+os.Getenv("PATH"))
	v := w.neovim("{}")
	images := func() int {
		requests := w.model.Requests()
		return bytes.Count(requests[len(requests)-1].Body, []byte(`"input_image"`))
	}
	v.types(":CodexImage dot.png<CR>")
	v.sees("1 image ·")
	v.types("iSAY: a dot<C-s>")
	v.said++
	v.ends()
	if got := images(); got != 1 {
		t.Errorf("the model got %d images", got)
	}
	v.wants(v.chat(), "SAY: a dot\n[localImage ")
	v.types(":CodexImage<CR>")
	v.sees("1 image ·")
	v.types("iSAY: another<C-s>")
	v.said++
	v.ends()
	v.says("SAY: and none")
	if got := images(); got != 2 {
		t.Errorf("the model got %d images in all", got)
	}
	v.types(":CodexImage nothing.png<CR>")
	v.sees("can't be read")
}

// The health check tells what there is; the help has a word about everything.
func TestNeovimHealthAndHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"read-only\"\n"})
	v := w.neovim("{}")
	v.says("SAY: hello")
	v.types(":checkhealth codex-bridge<CR>")
	health := "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')"
	v.until(health + ":find('the conversation')")
	v.until(health + ":find('thread ')")
	report := v.text("return " + health)
	v.wants(report, "Neovim 0.", "framing: headers", "configuration: ", "version 0.169.0", "policy enforce", "thread ")
	keep(t, report)
	v.shot("health")

	missing := w.neovim("{ cmd = { 'no-such-program' } }")
	missing.types(":checkhealth codex-bridge<CR>")
	missing.until(health + ":find('no%-such%-program is not executable')")

	// The record of the thread.
	v.types(":CodexTrace<CR>")
	v.until("vim.api.nvim_buf_get_name(0):find('codex://rollout/') ~= nil")
	v.wants(v.text("return "+health), "SAY: hello")

	// Every command, function, setting and event has its tag.
	got := v.lua(`
local help = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.api.nvim_get_runtime_file("lua/codex-bridge/init.lua", false)[1]))) .. "/doc/codex-bridge.txt"
local text = table.concat(vim.fn.readfile(help), "\n")
local missing = {}
local function want(tag) if not text:find("*" .. tag .. "*", 1, true) then missing[#missing + 1] = tag end end
for name in pairs(vim.api.nvim_get_commands({})) do if name:find("^Codex") then want(":" .. name) end end
for name in pairs(require("codex-bridge")) do want("codex-bridge." .. name .. "()") end
for name, value in pairs(require("codex-bridge.config").defaults) do
  want("codex-bridge-" .. name)
end
for _, file in ipairs(vim.fn.glob(vim.fs.dirname(vim.fs.dirname(help)) .. "/lua/**/*.lua", true, true)) do
  for name in table.concat(vim.fn.readfile(file), "\n"):gmatch('emit%("(%a+)"') do want("Codex" .. name) end
end
table.sort(missing)
return table.concat(missing, " ")`)
	if got != `""` {
		t.Errorf("the help does not speak of %s", got)
	}
	// And no tag is there twice, nor does a link lead nowhere.
	got = v.lua(`
local dir = ... .. "/help/doc"
vim.fn.mkdir(dir, "p")
local help = vim.api.nvim_get_runtime_file("doc/codex-bridge.txt", false)[1]
vim.fn.writefile(vim.fn.readfile(help), dir .. "/codex-bridge.txt")
vim.cmd.helptags(dir)
vim.opt.runtimepath:prepend(vim.fs.dirname(dir))
local missing = {}
for link in table.concat(vim.fn.readfile(help), "\n"):gmatch("|([^|%s]+)|") do
  if #vim.fn.getcompletion(link, "help") == 0 then missing[#missing + 1] = link end
end
return table.concat(missing, " ")`, w.root)
	if got != `""` {
		t.Errorf("the help has links to %s", got)
	}
}

// A setting that there is not is an error that says which there are.
func TestNeovimSettings(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{}).neovim("{}")
	for setup, want := range map[string]string{
		`{ comand = {} }`:                      "codex-bridge: setup{}: unknown setting comand; use one of cmd, env, ",
		`{ window = { position = "middle" } }`: `codex-bridge: window.position: expected one of "right", `,
		`{ cmd = "codex" }`:                    "codex-bridge: cmd: expected table, got string",
		`{ cmd = {} }`:                         "codex-bridge: cmd is empty",
		`{ keys = { send = 1 } }`:              "codex-bridge: keys.send: expected string, got number",
		`{ framing = "xml" }`:                  "codex-bridge: framing: expected one of",
	} {
		v.wants(v.text(`local _, err = pcall(require("codex-bridge").setup, `+setup+`) return err`), want)
	}
	v.lua(`require("codex-bridge").setup({ keys = { send = false }, cmd = { "x" } })`)
	if got := v.lua(`local c = require("codex-bridge.config").current return { c.keys.send, c.keys.accept, #c.cmd }`); got != `[false,"ga",1]` {
		t.Error(got)
	}
}
