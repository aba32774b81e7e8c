//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/editors/nvim/tests/neovim"
)

// inNeovim is a user at a Neovim with the plugin, in a world.
type inNeovim struct {
	*world
	*neovim.Neovim
	ctx     context.Context
	started int // number of started turns
}

// repositoryRoot returns the root of the module.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// neovimProgram returns the Neovim of `make editors`.
func neovimProgram(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("CODEX_BRIDGE_E2E_NEOVIM"); program != "" {
		return program
	}
	program := filepath.Join(repositoryRoot(t), ".tools", "nvim", "nvim")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; run `make setup editors`, which installs what the end-to-end tests need", err)
	}
	return program
}

// neovim starts a Neovim. setup is the Lua argument of the plugin's setup{}; the default of its cmd
// is the proxy.
func (w *world) neovim(setup string) *inNeovim {
	w.t.Helper()
	quote := func(text string) string { return marshal(w.t, text) } // also valid in Lua
	program := neovimProgram(w.t)
	init := w.write("init.lua", fmt.Sprintf(`
vim.opt.runtimepath:prepend(%s)
vim.opt.runtimepath:append(%s) -- the parsers; a Neovim started by a dynamic loader looks for them elsewhere
vim.opt.swapfile = false
require("codex-bridge").setup(vim.tbl_extend("keep", %s, { cmd = { %s, "app-server" } }))
_G.events = {}
vim.api.nvim_create_autocmd("User", { pattern = "Codex*", callback = function(e)
  events[#events + 1] = { name = e.match, data = e.data }
end })
function _G.seen(name)
  return vim.tbl_filter(function(e) return e.name == name end, events)
end
function _G.chat()
  return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr("codex://chat"), 0, -1, false), "\n")
end
`, quote(filepath.Join(repositoryRoot(w.t), "editors", "nvim")), quote(filepath.Join(filepath.Dir(program), "root/usr/lib/nvim")), setup, quote(proxyPath)))
	ctx := deadline(w.t)
	n, err := neovim.Start(context.WithoutCancel(ctx), neovim.Options{
		Program: program, Dir: w.workspace, Init: init,
		Env: append(w.env[:len(w.env):len(w.env)], "TERM=xterm-256color", "NVIM_LOG_FILE="+filepath.Join(w.root, "nvim.log")),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the screen:\n%s", n.Screen().Text())
		}
		n.Close()
	})
	v := &inNeovim{world: w, Neovim: n, ctx: ctx}
	v.waitScreen("~") // ready for keys
	return v
}

// typeKeys types keys.
func (v *inNeovim) typeKeys(keys string) {
	v.t.Helper()
	if err := v.Press(keys); err != nil {
		v.t.Fatal(err)
	}
}

// waitScreen waits until the screen shows all texts.
func (v *inNeovim) waitScreen(texts ...string) {
	v.t.Helper()
	if err := v.AwaitText(v.ctx, texts...); err != nil {
		v.t.Fatal(err)
	}
}

// waitLua waits until a Lua expression is true.
func (v *inNeovim) waitLua(expression string) {
	v.t.Helper()
	if err := v.Await(v.ctx, expression); err != nil {
		v.t.Fatal(err)
	}
}

// lua returns the result of Lua code as JSON.
func (v *inNeovim) lua(code string, args ...any) string {
	v.t.Helper()
	var got any
	if err := v.Lua(v.ctx, code, &got, args...); err != nil {
		v.t.Fatal(err)
	}
	return marshal(v.t, got)
}

// text returns the result of Lua code, a string.
func (v *inNeovim) text(code string, args ...any) string {
	v.t.Helper()
	var text string
	if err := json.Unmarshal([]byte(v.lua(code, args...)), &text); err != nil {
		v.t.Fatal(err)
	}
	return text
}

// startText sends a text by a command.
func (v *inNeovim) startText(text string) {
	v.t.Helper()
	v.started++
	if strings.Contains(text, "\n") { // a command line has one line
		v.lua(`require("codex-bridge").show(); require("codex-bridge").send(...)`, text)
		return
	}
	v.typeKeys(":Codex " + strings.ReplaceAll(text, "<", "<lt>") + "<CR>")
}

// waitTurns waits until all started turns have ended.
func (v *inNeovim) waitTurns() {
	v.t.Helper()
	v.waitLua(fmt.Sprintf("#seen('CodexTurnCompleted') >= %d", v.started))
}

// runText sends a text and waits for the end of its turn.
func (v *inNeovim) runText(text string) {
	v.t.Helper()
	v.startText(text)
	v.waitTurns()
}

// recordScreen records the screen without random parts, and as a page in the folder that `make pictures`
// names.
func (v *inNeovim) recordScreen(name string) {
	v.t.Helper()
	keepTranscript(v.t, name+"\n"+v.Screen().Text())
	folder := os.Getenv("CODEX_BRIDGE_PICTURES")
	if folder == "" {
		return
	}
	file := strings.NewReplacer(" ", "-", "/", "-").Replace(v.t.Name() + "-" + name + ".html")
	if err := os.WriteFile(filepath.Join(folder, file), []byte(v.Screen().HTML()), 0o600); err != nil {
		v.t.Error(err)
	}
}

// accept accepts the request on the screen, and decline declines it.
func (v *inNeovim) accept() { v.t.Helper(); v.typeKeys(":CodexAccept<CR>") }

func (v *inNeovim) decline() { v.t.Helper(); v.typeKeys(":CodexDecline<CR>") }

// openDiff opens the patch on the card as a diff.
func (v *inNeovim) openDiff(texts ...string) {
	v.t.Helper()
	v.waitScreen("Codex asks to change files", "gd  Show the diff")
	v.typeKeys(":CodexApprovals<CR>")
	v.waitLua("vim.bo.filetype == 'codex-card'")
	v.typeKeys("gd")
	v.waitScreen(append(texts, "ga accept")...)
}

// chatText returns the text of the conversation.
func (v *inNeovim) chatText() string {
	v.t.Helper()
	return v.text("return chat()")
}

// checkContains fails the test unless the text contains the others.
func (v *inNeovim) checkContains(text string, others ...string) {
	v.t.Helper()
	for _, other := range others {
		if !strings.Contains(text, other) {
			v.t.Errorf("%q is missing in\n%s", other, text)
		}
	}
}
