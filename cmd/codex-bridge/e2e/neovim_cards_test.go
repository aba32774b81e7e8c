//go:build linux

package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
)

const neovimRules = neovimPolicy + `escalation = "ask"
[approvals]
remember = "session"
[[policy.rule]]
command = "touch forbidden"
decision = "deny"
reason = "This file is made by the pipeline."
[[policy.rule]]
command = "make **"
decision = "allow"
`

// lineOf returns the number of the line of a text that begins with prefix.
func lineOf(text, prefix string) int {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, prefix) {
			return i + 1
		}
	}
	return 0
}

// A refusal and a cut are cards in the chat: what, why, the rule, and its file and line, which a key
// and a command open. The same cut is shown once.
func TestNeovimPolicyCards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{ thread = { approvalPolicy = 'never', sandbox = 'danger-full-access' } }")
	v.runText("RUN: touch forbidden")
	v.runText("SAY: again")
	if w.workspaceHasFile("forbidden") {
		t.Error("the refused command ran")
	}
	chat := v.chatText()
	rule := lineOf(neovimRules, `[[policy.rule]]`)
	v.checkContains(chat, "> Refused by the policy\n> What   touch forbidden\n> Why    This file is made by the pipeline: touch forbidden\n> Rule   policy.rule\n",
		fmt.Sprintf("config.toml:%d\n> go  Open policy · g?  Explain\n", rule),
		"> Changed by the policy\n", "> What   sandbox: danger-full-access → workspace-write\n", "> Rule   policy.sandbox\n", fmt.Sprintf("config.toml:%d\n", lineOf(neovimRules, "sandbox")))
	for _, once := range []string{"> What   touch forbidden", "> Changed by the policy", "> What   sandbox: "} {
		if n := strings.Count(chat, once); n != 1 {
			t.Errorf("%q is shown %d times in\n%s", once, n, chat)
		}
	}
	v.recordScreen("cards")
	// A client that sends its settings with each turn gets the change each time.
	v.lua(`for _ = 1, 2 do
  require("codex-bridge.policy").applied({ method = "turn/start", verdict = "rewrite", changes = {
    { field = "params.model", rule = "policy.models", reason = "gpt-4 is not allowed", from = "gpt-4", to = "gpt-5" } } })
end`)
	// A change may narrow what the client has not sent.
	v.lua(`require("codex-bridge.policy").applied({ method = "thread/start", verdict = "rewrite", changes = {
  { field = "params.sandbox", rule = "policy.writable_roots", reason = "read-only", to = "read-only", narrows = true } } })`)
	v.checkContains(v.chatText(), "> What   sandbox: not set → read-only\n")
	if n := strings.Count(v.chatText(), "> What   model: gpt-4 → gpt-5\n"); n != 1 {
		t.Errorf("the change is shown %d times", n)
	}
	v.lua(`require("codex-bridge.policy").applied({ method = "process/spawn", verdict = "deny", error = { method = "process/spawn", rule = "policy.methods", reason = "no" } })`)

	// The key opens the policy of the card under the cursor, here that of the cut.
	opened := func(line int) {
		t.Helper()
		v.waitLua(fmt.Sprintf("vim.api.nvim_buf_get_name(0) == %q and vim.api.nvim_win_get_cursor(0)[1] == %d", filepath.Join(w.root, "config.toml"), line))
	}
	v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://chat")) vim.fn.search("Changed by the policy", "w")`)
	v.typeKeys("go")
	opened(lineOf(neovimRules, "approval"))
	v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://chat")) vim.fn.search("touch forbidden", "bw") vim.fn.search("^> What   touch", "w")`)
	v.typeKeys(":CodexExplain<CR>")
	v.waitScreen("Refused by the policy", "Fix", "change the rule, or run it yourself")
	v.typeKeys("go")
	opened(rule)
	v.typeKeys(":CodexOpenPolicy<CR>") // without a card under the cursor: of the last card, which has no place
	v.waitScreen("No file sets this rule.")
	v.waitLua("vim.fn.bufnr('codex://explain') == -1")
}

// A dry run tells what the policy would say to a command, and nothing runs or is logged.
func TestNeovimDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{}")
	v.typeKeys(":Codex<CR>:CodexTry touch forbidden<CR>")
	v.waitLua("chat():find('The policy would refuse this command', 1, true)")
	v.checkContains(v.chatText(), "> What   touch forbidden\n> Why    This file is made by the pipeline: touch forbidden\n> Rule   policy.rule\n")
	v.typeKeys(":CodexTry make all<CR>")
	v.waitLua("chat():find('This command would run without a question', 1, true)")
	v.lua(`vim.ui.input = function(options, done) asked = options.prompt; vim.schedule(function() done("touch other") end) end`)
	v.typeKeys(":CodexTry<CR>")
	v.waitLua("asked == 'Command: ' and chat():find('You would be asked about this command', 1, true)")
	if w.workspaceHasFile("other") {
		t.Error("a dry run ran the command")
	}
	if got := v.lua("return vim.tbl_filter(function(e) return e.data.what end, seen('CodexPolicy'))"); got != "[]" && got != "{}" {
		t.Errorf("a dry run is a decision: %s", got)
	}
}

// The status names the files, the rules with their places, the profile, Codex's version, the hub and
// the grants. Without a bridge it says so.
func TestNeovimStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{}")
	v.runText("SAY: hello")
	v.typeKeys(":CodexStatus<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://status'")
	report := v.text(`return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")`)
	for _, want := range []string{
		"Bridge     codex-bridge ", "Codex      " + methods.Measured + " (tested)", "Policy     enforce, gate; ", "Profile    none", "Approvals  no answer within 2 minutes declines; remembered: session, 30 minutes",
		"Hub        off", "Hooks      active", "Files      " + filepath.Join(w.root, "config.toml"), "Rules      deny  touch forbidden — This file is made by the pipeline.", "allow make **", "Grants     none",
	} {
		v.checkContains(report, want)
	}
	v.recordScreen("status")
	keepTranscript(t, report)
	v.lua(`vim.fn.search("touch forbidden")`)
	v.typeKeys("<CR>")
	v.waitLua(fmt.Sprintf("vim.api.nvim_buf_get_name(0) == %q and vim.api.nvim_win_get_cursor(0)[1] == %d", filepath.Join(w.root, "config.toml"), lineOf(neovimRules, "[[policy.rule]]")))

	alone := w.neovim(fmt.Sprintf("{ cmd = { %q, 'app-server' } }", codexPath))
	for _, command := range []string{"CodexStatus", "CodexGrants", "CodexDecisions", "CodexTry ls"} {
		alone.typeKeys(":" + command + "<CR>")
		alone.waitLua("vim.api.nvim_exec2('messages', { output = true }).output:find('This needs codex%-bridge')")
		alone.typeKeys(":messages clear<CR>")
	}
}

// The decision log can be browsed: a decision has its details, and its policy opens.
func TestNeovimDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{}")
	v.runText("RUN: touch forbidden")
	v.typeKeys(":CodexDecisions<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://decisions'")
	v.waitScreen("deny", "policy.rule", "This file is made by the pipeline")
	v.recordScreen("decisions")
	v.lua(`vim.fn.search("policy.rule")`)
	v.typeKeys("<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://decision'")
	v.checkContains(v.text(`return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")`), "verdict  deny", "method   hook/preToolUse", "config.toml:")
	v.typeKeys("go")
	v.waitLua(fmt.Sprintf("vim.api.nvim_win_get_cursor(0)[1] == %d and vim.fn.expand('%%:t') == 'config.toml'", lineOf(neovimRules, "[[policy.rule]]")))
	// A program that says nothing.
	v.lua(`local c = require("codex-bridge.config").current; c.cmd[1], c.framing = "false", "headers"`)
	v.typeKeys(":CodexDecisions<CR>")
	v.waitScreen("ended with exit status 1")
}

// An answer for the session is offered in the words of approvals.remember, and it holds; the grant can
// be listed and revoked. The pickers work with another vim.ui.select.
func TestNeovimGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{}")
	v.typeKeys(":CodexGrants<CR>")
	v.waitScreen("There are no grants")
	v.startText("RUN: touch one")
	v.waitScreen("gs  Accept for this session, 30 minutes", "gr  Decline")
	if strings.Contains(v.Screen().Text(), "always") {
		t.Error("an answer is offered that the bridge does not keep")
	}
	v.recordScreen("offered")
	v.lua(`require("codex-bridge").answer("accept_session")`)
	v.waitTurns()
	v.runText("RUN: touch one") // is not asked
	v.checkContains(v.chatText(), "> Accepted without a question: grant ")
	if strings.Contains(v.chatText(), "Changed by the policy\n> What   result") {
		t.Error(v.chatText())
	}

	v.lua(`vim.ui.select = function(items, options, done)
  picker = { kind = options.kind, labels = vim.tbl_map(options.format_item, items) }
  vim.schedule(function() done(items[1], 1) end)
end`)
	v.typeKeys(":CodexGrants<CR>")
	v.waitLua("picker ~= nil and vim.api.nvim_exec2('messages', { output = true }).output:find('Revoked: ')")
	v.checkContains(v.lua("return picker"), `"kind":"codex-grant"`, "touch one", "session")
	v.startText("RUN: touch one")
	v.waitScreen("gs  Accept for this session, 30 minutes")
	// All choices, in another picker.
	v.typeKeys(":CodexApprovals<CR>")
	v.waitLua("vim.bo.filetype == 'codex-card'")
	v.typeKeys("<CR>")
	v.waitTurns()
	v.checkContains(v.lua("return picker"), `"kind":"codex-approval"`, "Accept once", "Accept for this session, 30 minutes", "Decline, and stop the turn")
	v.checkContains(v.chatText(), "$ touch one")
}

// A command that leaves the sandbox has its own card, in the colour of warnings, which names what
// leaves. It offers no answer for later.
func TestNeovimEscalation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{}")
	v.startText(`CALL: exec_command {"cmd": "touch outside", "sandbox_permissions": "require_escalated", "justification": "Verified by policy."}`)
	v.waitScreen("Leaves the sandbox", "touch outside", "Leaves", "ga  Accept once", "the model requests to run it outside", "Reason  stated, not checked:", "▏ Verified by policy.")
	v.recordScreen("escalation")
	if got := v.text(`for _, window in ipairs(vim.api.nvim_list_wins()) do
		if vim.api.nvim_win_get_config(window).relative ~= "" then return vim.wo[window].winhighlight end
	end`); !strings.HasPrefix(got, "FloatBorder:DiagnosticWarn") {
		t.Errorf("the colour is %s", got)
	}
	if strings.Contains(v.Screen().Text(), "for this session") {
		t.Error("an answer is offered that the bridge does not keep")
	}
	v.accept()
	v.waitTurns()
}

// A card counts down. When the bridge has declined, the card goes, the chat says so, and a later
// answer accepts nothing.
func TestNeovimExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(neovimRules, "remember", "timeout = \"4s\"\nremember", 1)})
	v := w.neovim("{}")
	v.startText("RUN: touch late")
	v.waitScreen("declined in 0:04")
	v.waitScreen("declined in 0:02")
	v.waitTurns()
	v.waitLua("require('codex-bridge').about().pending_requests == 0")
	v.checkContains(v.chatText(), "> No answer in time: declined\n> What  touch late\n")
	if n := strings.Count(v.chatText(), "No answer in time"); n != 1 {
		t.Errorf("the chat says so %d times:\n%s", n, v.chatText())
	}
	if strings.Contains(v.Screen().Text(), "Accept once") {
		t.Error("the card is still there")
	}
	v.accept()
	v.waitScreen("Codex has no pending request")
	if w.workspaceHasFile("late") {
		t.Error("the command ran")
	}
	// An answer that reaches the bridge too late is reported too.
	v.lua(`require("codex-bridge.policy").applied({ method = "item/commandExecution/requestApproval", threadId = "t", itemId = "i", what = "touch too-late",
		verdict = "deny", error = { method = "x", rule = "approvals.timeout", reason = "no answer came within 4s" } })`)
	v.checkContains(v.chatText(), "> No answer in time: declined\n> What   touch too-late\n")
}

// A request that arrives while the command-line window is open is shown after it.
func TestNeovimCommandLineWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{ thread = { sandbox = 'workspace-write' } }")
	v.runText("SAY: hello")
	v.typeKeys("q:")
	v.waitLua("vim.fn.getcmdwintype() == ':'")
	v.lua(`require("codex-bridge").send("RUN: touch later")`)
	v.started++
	v.waitLua("require('codex-bridge').about().pending_requests == 1")
	v.typeKeys(":q<CR>")
	v.waitScreen("touch later", "ga  Accept once")
	v.accept()
	v.waitTurns()
	if !w.workspaceHasFile("later") {
		t.Error("the accepted command did not run")
	}
}

// A card that the user closes and asks for again at once stays.
func TestNeovimCardIsReopenedAtOnce(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{config: neovimRules}).neovim("{}")
	v.startText("RUN: touch it")
	v.waitScreen("ga  Accept once")
	v.lua(`require("codex-bridge").approvals()
		vim.api.nvim_win_close(0, true)
		require("codex-bridge").approvals()`)
	v.lua("vim.wait(100)") // what is scheduled runs
	if got := v.text("return vim.bo.filetype"); got != "codex-card" {
		t.Errorf("the cursor is in %q", got)
	}
	v.decline()
	v.waitTurns()
}

// Nothing is accepted that was not on the screen. With a hidden chat the user is notified.
func TestNeovimUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimRules})
	v := w.neovim("{ thread = { sandbox = 'workspace-write' } }")
	v.runText("SAY: hello")
	v.lua(`notes = {} vim.notify = function(text) notes[#notes + 1] = text end require("codex-bridge").hide()`)
	v.lua(`require("codex-bridge").send("RUN: touch unseen")`)
	v.started++
	v.waitLua("table.concat(notes, '\\n'):find('codex: touch unseen', 1, true)")
	v.waitScreen("ga  Accept once") // also without the chat
	v.typeKeys(":tabnew<CR>")
	v.waitLua("#vim.api.nvim_list_tabpages() == 2 and vim.fn.tabpagenr() == 2")
	v.waitScreen("ga  Accept once") // it comes along
	v.typeKeys(":CodexApprovals<CR>")
	v.waitLua("vim.bo.filetype == 'codex-card'")
	v.typeKeys(":q<CR>")
	v.waitLua("vim.bo.filetype ~= 'codex-card'")
	v.accept()
	v.waitLua("table.concat(notes, '\\n'):find('Nothing was accepted', 1, true)")
	v.waitScreen("ga  Accept once")
	if w.workspaceHasFile("unseen") {
		t.Error("a request was accepted that was not on the screen")
	}
	v.accept()
	v.waitTurns()
	if !w.workspaceHasFile("unseen") {
		t.Error("the accepted command did not run")
	}
}
