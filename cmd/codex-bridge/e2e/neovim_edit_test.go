//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// twoFiles returns a model's patch that updates poem.txt and adds deep/new.txt.
func twoFiles() scripted.Reply {
	return scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n*** Update File: poem.txt\n@@\n one\n-two\n+zwei\n*** Add File: deep/new.txt\n+new\n*** End Patch\n"}}
}

// toCard moves the cursor to the card of a patch.
func (v *inNeovim) toCard(texts ...string) {
	v.t.Helper()
	v.waitScreen(texts...)
	v.typeKeys(":CodexApprovals<CR>")
	v.waitLua("vim.bo.filetype == 'codex-card'")
}

// editFile goes to a file of a patch that is being edited. Codex and the bridge have the files in different orders.
func (v *inNeovim) editFile(name string) {
	v.t.Helper()
	v.waitScreen("(edit) ", "ga accept edited", ":w keep")
	if !strings.Contains(v.text("return vim.api.nvim_buf_get_name(0)"), name) {
		v.typeKeys("]f")
	}
	v.waitLua(fmt.Sprintf("vim.api.nvim_buf_get_name(0):find(%q, 1, true)", "codex://after/"+name))
}

// The user edits a patch before they accept it. The editor writes their version, the model's next request has the edit
// beside the rejection of its own version, and the write belongs to the changes of the turn.
func TestNeovimEditPatch(t *testing.T) {
	t.Parallel()
	bridge := options{config: "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n"}
	for name, test := range map[string]struct {
		options
		cmd string
	}{"bridge": {bridge, ""}, "plain codex": {options{}, fmt.Sprintf("cmd = { %q, 'app-server' }, ", codexPath)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.options)
			w.write("workspace/poem.txt", "one\ntwo") // Codex ends it with a newline
			w.model.Add(scripted.Step{When: "change it", Reply: twoFiles()})
			v := w.neovim("{ " + test.cmd + "thread = { approvalPolicy = 'untrusted', sandbox = 'workspace-write' } }")
			v.lua(laterPicker + changesLua)
			v.typeKeys(":edit poem.txt<CR>")
			v.startText("change it")
			v.toCard("ge  Edit, then accept", "ga  Accept once")
			v.typeKeys("ge")
			v.editFile("poem.txt")
			v.typeKeys("u:%s/zwei/zwo/<CR>:write<CR>")
			v.waitLua("not vim.bo.modified and vim.fn.getline(2) == 'zwo'")
			v.recordScreen("editing")
			v.typeKeys(":quit<CR>")
			v.toCard("ga  Accept edited", "ge  Show the edit")
			v.recordScreen("kept")
			v.typeKeys("ge")
			v.editFile("deep/new.txt")
			v.typeKeys("omine<Esc>ga")
			v.waitTurns()
			for file, want := range map[string]string{"poem.txt": "one\nzwo\n", "deep/new.txt": "new\nmine\n"} {
				if got := w.get(file); got != want {
					t.Errorf("%s is %q", file, got)
				}
			}
			v.waitLua("vim.api.nvim_buf_get_lines(vim.fn.bufnr('poem.txt'), 1, 2, true)[1] == 'zwo' and #vim.api.nvim_list_tabpages() == 1")
			requests := w.model.Requests()
			last := requests[len(requests)-1]
			if !last.Contains("rejected by user") {
				t.Error("the model does not get the rejection of its version")
			}
			v.checkContains(last.UserText(), "I edited your patch before I accepted it.", "--- a/deep/new.txt\n+++ b/deep/new.txt\n@@ -1 +1,2 @@\n new\n+mine\n", "--- a/poem.txt\n+++ b/poem.txt\n@@ -1,2 +1,2 @@\n one\n-zwei\n+zwo\n")
			v.waitLua("#seen('CodexChanges') == 1")
			v.checkContains(v.chatText(), "### 2 files changed\n\nA deep/new.txt  +2 -0\n")
			v.typeKeys(":CodexChanges<CR>")
			v.waitLua("changes_text():find('M poem.txt  +1 -1', 1, true)")
			v.lua("at_change(...)", "M poem.txt")
			v.typeKeys("gr")
			v.waitLua("noted('Undone: poem.txt')")
			if got := w.get("poem.txt"); got != "one\ntwo" {
				t.Errorf("after the undo: %q", got)
			}
		})
	}
}

// An edit is not written over a file that changed since, and a request that ends keeps the text of the user. A
// deletion can't be edited.
func TestNeovimEditPatchNotWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\n")
	w.model.Add(
		scripted.Step{When: "change it", Reply: twoFiles()},
		scripted.Step{When: "delete it", Reply: scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n*** Delete File: poem.txt\n*** Add File: deep/new.txt\n+new\n*** End Patch\n"}}},
	)
	v := w.neovim("{ thread = { approvalPolicy = 'untrusted', sandbox = 'workspace-write' } }")
	v.lua(laterPicker)
	v.typeKeys(":edit poem.txt<CR>omine<Esc>")
	v.startText("change it")
	v.toCard("ge  Edit, then accept")
	v.typeKeys("ge")
	v.waitLua("noted('poem.txt has unsaved changes.')")
	v.lua("vim.cmd('wincmd t | edit!')")
	v.toCard("ge  Edit, then accept")
	v.typeKeys("ge")
	v.editFile("deep/new.txt")
	v.typeKeys("cc`mine`<Esc>")
	v.lua(`session = require("codex-bridge.session")
request = session.request
session.request = function(method, _, callback)
  session.request, written = request, method .. vim.fn.join(vim.fn.readfile("deep/new.txt"))
  callback({ message = "no active turn to steer" })
end`)
	v.typeKeys("ga")
	v.waitLua("written == 'turn/steer`mine`' and noted('Your version is not accepted: no active turn to steer.')")
	v.waitScreen("ga  Accept edited")
	if got := w.get("poem.txt"); got != "one\ntwo\n" || w.workspaceHasFile("deep") {
		t.Errorf("the write is not taken back: %q", got)
	}
	if err := os.WriteFile(filepath.Join(w.workspace, "poem.txt"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.accept()
	v.waitLua("noted('poem.txt changed since you started the edit.')")
	v.waitScreen("ga  Accept edited")
	if got := w.get("deep/new.txt"); got != "no file" {
		t.Errorf("a part of the edit is written: %q", got)
	}
	v.typeKeys(":CodexStop<CR>")
	v.waitTurns()
	v.waitLua("noted('The request has ended. Your text is in codex://edited/')")
	kept := v.text(`for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_get_name(buf):find("codex://edited/", 1, true) then return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n") end
end`)
	if kept != "`mine`" || w.get("poem.txt") != "other\n" || w.get("deep/new.txt") != "no file" {
		t.Errorf("kept %q, poem %q, new %q", kept, w.get("poem.txt"), w.get("deep/new.txt"))
	}
	v.startText("delete it")
	v.waitScreen("gd  Show the diff", "not possible, because the patch deletes or")
	if strings.Contains(v.Screen().Text(), "Edit, then accept") {
		t.Error("a deletion can be edited")
	}
	got := v.lua(`local function offers(p, path)
  local changes = { { path = path or vim.fn.getcwd() .. "/a", kind = { type = "add" }, diff = "a\n" } }
  p.turnId = "t"
  return vim.iter(require("codex-bridge.requests.file_change").card(p, changes).choices):any(function(choice) return choice.name == "edit" end)
end
return { offers({}), offers({ grantRoot = "/" }), offers({ bridge = {}, reason = "[codex-bridge: leaves the sandbox] x" }), offers({}, "/elsewhere") }`)
	if got != "[true,false,false,false]" {
		t.Errorf("offered inside, for a root, outside the sandbox, outside the folder: %s", got)
	}
	v.decline()
	v.waitTurns()
}
