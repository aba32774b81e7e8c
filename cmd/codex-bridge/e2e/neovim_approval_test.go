//go:build linux

package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A card shows the command and its folder, and leaves the cursor where it is. A declined command does
// not run, a closed card waits, and keys typed as text answer nothing.
func TestNeovimApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.startText("ESCALATE: touch accepted")
	// The end of the chat is above the card.
	v.waitScreen("### $ touch accepted", "Leaves the sandbox", "Folder", "ga  Accept once", "gr  Decline", ":CodexApprovals comes here.")
	v.recordScreen("asked")
	if got := v.lua("return { vim.api.nvim_get_current_win() == vim.fn.win_getid(1), vim.api.nvim_get_mode().mode }"); got != `[true,"n"]` {
		t.Errorf("the card took the cursor: %s", got)
	}
	v.typeKeys(":Codex<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://prompt'")
	v.typeKeys("ga")
	v.waitTurns()
	if !w.workspaceHasFile("accepted") {
		t.Error("the accepted command did not run")
	}
	v.recordScreen("accepted")

	v.startText("ESCALATE: touch declined")
	v.waitScreen("touch declined", "gr  Decline")
	v.typeKeys(":CodexApprovals<CR>")
	v.waitLua("vim.bo.filetype == 'codex-card'")
	v.typeKeys(":q<CR>") // closed without an answer
	v.waitLua("vim.bo.filetype ~= 'codex-card' and require('codex-bridge').status() == 'codex: 1 to answer'")
	v.waitLua("#vim.tbl_filter(function(w) return vim.api.nvim_win_get_config(w).relative ~= '' end, vim.api.nvim_list_wins()) == 0")
	v.typeKeys(":CodexApprovals<CR>")
	v.waitLua("vim.bo.filetype == 'codex-card'")
	v.typeKeys("gr")
	v.waitTurns()
	if w.workspaceHasFile("declined") {
		t.Error("the declined command ran")
	}
	v.waitScreen("declined")

	// While a person writes, the card shows, and takes no keys.
	v.started++
	v.typeKeys(":lua require('codex-bridge').open()<CR>iESCALATE: touch later<C-s>iga 1 is what I write")
	v.waitScreen("touch later", "ga  Accept once")
	if got := v.lua("return { vim.api.nvim_get_mode().mode, require('codex-bridge').about().pending_requests }"); got != `["i",1]` {
		t.Errorf("the state is %s", got)
	}
	if w.workspaceHasFile("later") {
		t.Error("it was chosen while somebody wrote")
	}
	v.typeKeys("<Esc>ga")
	v.waitTurns()
	v.checkContains(v.text("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('codex://prompt'), 0, 1, true)[1]"), "ga 1 is what I write")
	if !w.workspaceHasFile("later") {
		t.Error("the accepted command did not run")
	}
}

// Stopping a turn closes its questions.
func TestNeovimStopWhileAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.startText("PATCH: new.txt\nfresh")
	v.openDiff("new.txt (new file)")
	v.lua("require('codex-bridge').stop()")
	v.waitTurns()
	v.waitLua("#vim.api.nvim_list_tabpages() == 1 and require('codex-bridge').about().pending_requests == 0")
	v.checkContains(v.chatText(), "> stopped")
	if w.workspaceHasFile("new.txt") {
		t.Error("it was written")
	}
}

// The model asks; the user selects an option or types.
func TestNeovimQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "[features]\ndefault_mode_request_user_input = true\n"})
	v := w.neovim("{}")
	v.startText("ASK: Shall I?")
	v.waitScreen("Shall I?", "1: Yes (Recommended): Go on.", "2: No", "3: Something else…")
	v.recordScreen("asked")
	v.typeKeys("2<CR>")
	v.waitTurns()
	v.checkContains(w.lastToolOutput(), `"No"`)

	v.startText("ASK: Really?")
	v.waitScreen("Really?", "3: Something else…")
	v.typeKeys("3<CR>")
	v.waitLua("vim.api.nvim_get_mode().mode == 'c'")
	v.typeKeys("perhaps<CR>")
	v.waitTurns()
	v.checkContains(w.lastToolOutput(), `"perhaps"`)
}

// A server asks for consent, and then with a form.
func TestNeovimElicitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: mcpConfig("probe") + "[mcp_servers.probe.tools.ask]\napproval_mode = \"approve\"\n"})
	v := w.neovim("{ thread = { approvalPolicy = 'on-request', sandbox = 'read-only' } }")
	v.startText("CALL: mcp__probe/ask {}")
	v.waitScreen("probe asks", "ga  Accept once")
	v.accept()
	v.waitLua("vim.api.nvim_get_mode().mode == 'c'")
	v.typeKeys("7<CR>")
	v.waitTurns()
	v.checkContains(w.lastToolOutput(), `"action":"accept"`, "7")
}

// The user grants the requested permissions, or none.
func TestNeovimPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n"})
	v := w.neovim("{}")
	elsewhere := filepath.Join(w.root, "elsewhere")
	call := fmt.Sprintf(`CALL: request_permissions {"reason":"to build","permissions":{"file_system":{"write":[%q]}}}`, elsewhere)
	v.startText(call)
	v.waitScreen("Leaves the sandbox", "to build", "ga  Grant for this turn", "gs  Grant for this session", "gr  Decline")
	v.recordScreen("asked")
	v.accept()
	v.waitTurns()
	v.checkContains(w.lastToolOutput(), elsewhere, `"turn"`)
	v.startText(call)
	v.waitScreen("Leaves the sandbox", "gr  Decline")
	v.decline()
	v.waitTurns()
	if told := w.lastToolOutput(); strings.Contains(told, elsewhere) {
		t.Errorf("after declining, the model got %s", told)
	}
}

// Codex asks for entries outside the lists of paths.
func TestNeovimPermissionEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n"})
	v := w.neovim("{}")
	v.startText(`CALL: request_permissions {"reason":"to build","permissions":{"file_system":{"entries":[` +
		`{"access":"write","path":{"type":"path","path":"/srv/entry"}},{"access":"deny","path":{"type":"glob_pattern","pattern":"/etc/*.key"}},` +
		`{"access":"write","path":{"type":"special","value":{"kind":"root"}}}]}}}`)
	v.waitScreen("write /srv/entry", "deny all files that match /etc/*.key", "write {", `"root"`, "gr  Decline")
	v.decline()
	v.waitTurns()
}
