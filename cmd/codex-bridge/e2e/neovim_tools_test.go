//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/methods"
)

// symbolServer is a language server in Neovim that knows one function.
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

// The model calls tools of the editor, with and without the bridge.
func TestNeovimTools(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]string{
		"bridge":      "{}",
		"plain codex": fmt.Sprintf("{ cmd = { %q, 'app-server' } }", codexPath),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			w.write("workspace/sum.py", "a = 1\nb = 2\ndef add(): return a + b\n")
			v := w.neovim(setup)
			v.typeKeys(":edit sum.py<CR>")
			v.lua(`vim.diagnostic.set(vim.api.nvim_create_namespace("x"), 0, { { lnum = 1, col = 6, message = "unused b", severity = 2, source = "lint" } })`)
			v.typeKeys("ggVj<Esc>")
			for _, call := range []struct{ tool, want string }{
				{"editor_diagnostics {}", "sum.py:2:7: warn: unused b [lint]"},
				{`editor_diagnostics {"path":"sum.py"}`, "sum.py:2:7: warn: unused b [lint]"},
				{`editor_diagnostics {"path":"other.py"}`, "other.py is not open in the editor"},
				{"editor_buffers {}", "sum.py (current, visible)"},
				{"editor_selection {}", "sum.py, line 2 of 3; selected, lines 1 to 2:\na = 1\nb = 2"},
				{"editor_symbols {}", "no language server offers the symbols of sum.py"},
			} {
				v.runText("CALL: " + call.tool)
				v.checkContains(w.lastToolOutput(), call.want)
			}
			v.lua(symbolServer)
			v.waitLua("#vim.lsp.get_clients({ method = 'textDocument/documentSymbol' }) == 1")
			v.runText(`CALL: editor_symbols {"path":"sum.py"}`)
			v.checkContains(w.lastToolOutput(), "Function add, line 3")
			v.recordScreen("tools")
		})
	}
}

// Without a bridge the plugin talks to Codex: approvals, and the end of the process.
func TestNeovimFindsNoBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim(fmt.Sprintf("{ cmd = { %q, 'app-server' } }", codexPath))
	v.runText("SAY: good day")
	v.waitScreen("no bridge")
	v.startText("ESCALATE: touch accepted")
	v.waitScreen("ga  Accept once")
	v.accept()
	v.waitTurns()
	if !w.workspaceHasFile("accepted") {
		t.Error("the accepted command did not run")
	}
	v.lua("require('codex-bridge').close()")
	v.waitLua("#seen('CodexExited') == 1")
	v.runText("SAY: after")
	v.checkContains(v.chatText(), "## Codex\n\nafter\n")
}

// An image is sent with the next text only.
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
	// The program that reads an image from the clipboard.
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
	v.typeKeys(":CodexImage dot.png<CR>")
	v.waitScreen("1 image ·")
	v.typeKeys("iSAY: a dot<C-s>")
	v.started++
	v.waitTurns()
	if got := images(); got != 1 {
		t.Errorf("the model got %d images", got)
	}
	v.checkContains(v.chatText(), "SAY: a dot\n[localImage ")
	v.typeKeys(":CodexImage<CR>")
	v.waitScreen("1 image ·")
	v.typeKeys("iSAY: another<C-s>")
	v.started++
	v.waitTurns()
	v.runText("SAY: and none")
	if got := images(); got != 2 {
		t.Errorf("the model got %d images in all", got)
	}
	// A link of a command among the temporary files would lead the image elsewhere.
	v.checkContains(v.chatText(), "SAY: another\n[localImage "+filepath.Join(w.root, "user", "state", "nvim", "codex-bridge", "images"))
	v.typeKeys(":CodexImage nothing.png<CR>")
	v.waitScreen("can't be read")
}

// The health check reports the setup; the help covers everything.
func TestNeovimHealthAndHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"read-only\"\n"})
	v := w.neovim("{}")
	v.runText("SAY: hello")
	v.typeKeys(":checkhealth codex-bridge<CR>")
	health := "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')"
	v.waitLua(health + ":find('the conversation')")
	v.waitLua(health + ":find('thread ')")
	report := v.text("return " + health)
	v.checkContains(report, "Neovim 0.", "messages are rendered by treesitter", "framing: headers", "configuration: ", "version "+methods.Measured, "policy enforce", "thread ")
	keepTranscript(t, report)
	v.recordScreen("health")

	missing := w.neovim("{ cmd = { 'no-such-program' } }")
	missing.typeKeys(":checkhealth codex-bridge<CR>")
	missing.waitLua(health + ":find('no%-such%-program is not executable')")

	// The record of the thread.
	v.typeKeys(":CodexTrace<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0):find('codex://rollout/') ~= nil")
	v.checkContains(v.text("return "+health), "SAY: hello")

	// Every command, function, setting and event has a tag.
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
		t.Errorf("the help lacks %s", got)
	}
	// Tags are unique, and all links resolve.
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
		t.Errorf("the help has broken links to %s", got)
	}
}

// An unknown setting is an error that lists the known ones.
func TestNeovimSettings(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{}).neovim("{}")
	for setup, want := range map[string]string{
		`{ comand = {} }`:                      "codex-bridge: setup{}: unknown setting comand; use one of checkpoints, cmd, complete, env, ",
		`{ window = { position = "middle" } }`: `codex-bridge: window.position: expected one of "right", `,
		`{ cmd = "codex" }`:                    "codex-bridge: cmd: expected table, got string",
		`{ cmd = {} }`:                         "codex-bridge: cmd is empty",
		`{ keys = { send = 1 } }`:              "codex-bridge: keys.send: expected string, got number",
		`{ framing = "xml" }`:                  "codex-bridge: framing: expected one of",
	} {
		v.checkContains(v.text(`local _, err = pcall(require("codex-bridge").setup, `+setup+`) return err`), want)
	}
	v.lua(`require("codex-bridge").setup({ keys = { send = false }, cmd = { "x" } })`)
	if got := v.lua(`local c = require("codex-bridge.config").current return { c.keys.send, c.keys.accept, #c.cmd }`); got != `[false,"ga",1]` {
		t.Error(got)
	}
}
