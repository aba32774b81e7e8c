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

	"codex-bridge/editors/nvim/tests/neovim"
)

// inNeovim is a person at a Neovim with the plugin, in a world.
type inNeovim struct {
	*world
	*neovim.Neovim
	ctx  context.Context
	said int // turns that were begun
}

// repositoryRoot is where the module lies.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// neovimProgram is the Neovim that `make editors` has installed.
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

// neovim starts one. setup is the argument of the plugin's setup{}, in Lua; its cmd is
// the proxy unless it says otherwise.
func (w *world) neovim(setup string) *inNeovim {
	w.t.Helper()
	quote := func(text string) string { return marshal(w.t, text) } // which Lua reads, too
	init := w.write("init.lua", fmt.Sprintf(`
vim.opt.runtimepath:prepend(%s)
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
`, quote(filepath.Join(repositoryRoot(w.t), "editors", "nvim")), setup, quote(proxyPath)))
	ctx := deadline(w.t)
	n, err := neovim.Start(context.WithoutCancel(ctx), neovim.Options{
		Program: neovimProgram(w.t), Dir: w.workspace, Init: init,
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
	v.sees("~") // the first picture: no keys are lost
	return v
}

// types presses keys.
func (v *inNeovim) types(keys string) {
	v.t.Helper()
	if err := v.Press(keys); err != nil {
		v.t.Fatal(err)
	}
}

// sees waits until the screen shows all of texts.
func (v *inNeovim) sees(texts ...string) {
	v.t.Helper()
	if err := v.AwaitText(v.ctx, texts...); err != nil {
		v.t.Fatal(err)
	}
}

// until waits until an expression of Lua is true.
func (v *inNeovim) until(expression string) {
	v.t.Helper()
	if err := v.Await(v.ctx, expression); err != nil {
		v.t.Fatal(err)
	}
}

// lua is what code returns, as JSON writes it.
func (v *inNeovim) lua(code string, args ...any) string {
	v.t.Helper()
	var got any
	if err := v.Lua(v.ctx, code, &got, args...); err != nil {
		v.t.Fatal(err)
	}
	return marshal(v.t, got)
}

// text is what code returns: a text.
func (v *inNeovim) text(code string, args ...any) string {
	v.t.Helper()
	var text string
	if err := json.Unmarshal([]byte(v.lua(code, args...)), &text); err != nil {
		v.t.Fatal(err)
	}
	return text
}

// begins sends a text by a command.
func (v *inNeovim) begins(text string) {
	v.t.Helper()
	v.said++
	if strings.Contains(text, "\n") { // no command line has more than one
		v.lua(`require("codex-bridge").show(); require("codex-bridge").send(...)`, text)
		return
	}
	v.types(":Codex " + strings.ReplaceAll(text, "<", "<lt>") + "<CR>")
}

// ends waits until all turns that were begun have ended.
func (v *inNeovim) ends() {
	v.t.Helper()
	v.until(fmt.Sprintf("#seen('CodexTurnCompleted') >= %d", v.said))
}

// says is a whole turn.
func (v *inNeovim) says(text string) {
	v.t.Helper()
	v.begins(text)
	v.ends()
}

// shot keeps the screen, without what is random.
func (v *inNeovim) shot(name string) {
	keep(v.t, name+"\n"+v.Screen().Text())
}

// chat is the text of the conversation.
func (v *inNeovim) chat() string {
	v.t.Helper()
	return v.text("return chat()")
}

// wants fails the test unless the text has all the others.
func (v *inNeovim) wants(text string, others ...string) {
	v.t.Helper()
	for _, other := range others {
		if !strings.Contains(text, other) {
			v.t.Errorf("there is no %q in\n%s", other, text)
		}
	}
}
