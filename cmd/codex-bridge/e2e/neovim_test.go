//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// A user opens the chat, writes, reads the reply, and continues with commands.
func TestNeovimChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.typeKeys(":Codex<CR>")
	v.waitScreen("Ask Codex…", "<CR> sends")
	v.recordScreen("opened")
	v.typeKeys("igood day<CR>to you<Esc><CR>")
	v.started++
	v.waitTurns()
	v.waitScreen("## You", "## Codex", "codex: idle · policy off · readOnly")
	v.checkContains(v.chatText(), "## You\n\ngood day\nto you\n\n## Codex\n\nHello from the scripted model. You said: good day\nto you\n")
	v.recordScreen("answered")

	v.runText("RUN: seq 1 6")
	v.waitScreen("▸ $ ", "exit 0 · 6 lines")
	v.checkContains(v.chatText(), "\n````\n1\n2\n", "\n6\n````\n")
	v.recordScreen("a command")
	if got := v.lua("return vim.fn.getbufvar('codex://chat', '&filetype')"); got != `"markdown"` {
		t.Errorf("chat state %s", got)
	}

	// Keys of the insert mode also send, and clear the prompt.
	v.typeKeys("iSAY: sent from insert mode<C-s>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "## Codex\n\nsent from insert mode\n")
	v.waitScreen("Ask Codex…")

	v.typeKeys(":CodexNew<CR>")
	v.waitLua("chat() == '' and require('codex-bridge').about().thread == nil")
	v.runText("SAY: another thread")
	if got := v.lua("return #seen('CodexThread')"); got != "2" {
		t.Errorf("%s threads", got)
	}
	if last := w.model.Requests()[len(w.model.Requests())-1]; last.Contains("good day") {
		t.Error("the new thread has the old history")
	}

	// The chat shows the error of a failed turn.
	v.runText("FAIL")
	v.checkContains(v.chatText(), "> The scripted model was told to fail.")
	v.recordScreen("failed")

	// Closing windows keeps the conversation.
	v.lua("require('codex-bridge').hide()")
	v.waitLua("#vim.api.nvim_list_wins() == 1")
	v.typeKeys(":Codex<CR>")
	v.waitScreen("another thread")

	// No process outlives Neovim.
	v.typeKeys(":qa!<CR>")
	if left := w.waitProcesses(func(pids []int) bool { return len(pids) == 0 }); len(left) > 0 {
		t.Errorf("running after the end of Neovim:%s", describe(left))
	}
}

// A selection is sent with its place, or quoted in the prompt.
func TestNeovimSelection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/sum.py", "a = 1\nb = 2\nprint(a + b)\n")
	v := w.neovim("{}")
	v.typeKeys(":edit sum.py<CR>")
	v.runText("SAY: first")
	v.lua("vim.cmd('wincmd t')")
	v.typeKeys(":2,3Codex what is this<CR>")
	v.started++
	v.waitTurns()
	quote := "sum.py, lines 2 to 3:\n```python\nb = 2\nprint(a + b)\n```"
	v.checkContains(v.chatText(), "## You\n\nwhat is this\n\n"+quote+"\n")

	v.lua("vim.cmd('wincmd t')")
	v.typeKeys("ggVj:Codex<CR>")
	v.waitLua("vim.api.nvim_buf_get_name(0) == 'codex://prompt'")
	v.recordScreen("quoted")
	v.typeKeys("iand this?<Esc><CR>")
	v.started++
	v.waitTurns()
	v.checkContains(v.chatText(), "and this?\n\nsum.py, lines 1 to 2:\n```python\na = 1\nb = 2\n```\n")
	v.recordScreen("answered")
}

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

// updatePatch returns a model's patch that changes one line of a file.
func updatePatch(path, context, from, to string) scripted.Reply {
	return scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: fmt.Sprintf(
		"*** Begin Patch\n*** Update File: %s\n@@\n %s\n-%s\n+%s\n*** End Patch\n", path, context, from, to)}}
}

// A patch opens as a diff in a new tab, which closes with the answer. Buffers reload, except
// changed ones.
func TestNeovimPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\nthree\nfour\n")
	w.model.Add(
		scripted.Step{When: "first change", Reply: updatePatch("poem.txt", "one", "two", "zwei")},
		scripted.Step{When: "second change", Reply: updatePatch("poem.txt", "zwei", "three", "drei")},
		scripted.Step{When: "third change", Reply: updatePatch("poem.txt", "drei", "four", "vier")},
	)
	v := w.neovim("{}")
	v.typeKeys(":edit poem.txt<CR>")
	v.startText("the first change")
	v.openDiff("poem.txt (now)", "zwei")
	v.recordScreen("asked")
	if got := v.lua("return #vim.api.nvim_list_tabpages()"); got != "2" {
		t.Errorf("%s tabs", got)
	}
	v.typeKeys("ga")
	v.waitTurns()
	v.waitLua("#vim.api.nvim_list_tabpages() == 1")
	poem := "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('poem.txt'), 0, -1, true), ' ')"
	if got := v.text(poem); got != "one zwei three four" {
		t.Errorf("the buffer has %q", got)
	}
	v.waitScreen("▸ Patch poem.txt · done")
	v.recordScreen("accepted")

	v.startText("the second change")
	v.openDiff("poem.txt (now)", "drei")
	v.typeKeys("gr")
	v.waitTurns()
	v.waitLua("#vim.api.nvim_list_tabpages() == 1")
	if got := v.text(poem); got != "one zwei three four" {
		t.Errorf("after declining, the buffer has %q", got)
	}

	// A new file; the tab is closed and comes back.
	v.startText("PATCH: new.txt\nfresh")
	v.openDiff("new.txt (new file)")
	v.typeKeys(":q<CR>")
	v.waitLua("#vim.api.nvim_list_tabpages() == 1 and require('codex-bridge').about().pending_requests == 1")
	v.openDiff("new.txt (new file)")
	v.typeKeys(":CodexAccept<CR>")
	v.waitTurns()
	if !w.workspaceHasFile("new.txt") {
		t.Error("the accepted file is not there")
	}

	// A changed buffer stays unchanged.
	v.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('poem.txt'), 0, 1, true, { 'mine' })")
	w.write("workspace/poem.txt", "one\nzwei\ndrei\nfour\n")
	v.startText("the third change")
	v.waitScreen("vier", "ga  Accept once")
	v.accept()
	v.waitLua("vim.api.nvim_exec2('messages', { output = true }).output:find('your buffer has changes')")
	v.waitTurns()
	if got := v.text(poem); got != "mine zwei three four" {
		t.Errorf("the changed buffer has %q", got)
	}
	if raw, _ := os.ReadFile(filepath.Join(w.workspace, "poem.txt")); string(raw) != "one\nzwei\ndrei\nvier\n" {
		t.Errorf("the file has %q", raw)
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

// The cards show everything that an answer grants, also unknown parts.
func TestNeovimCardsShowAllThatIsGranted(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{}).neovim("{}")
	const stated = "stated, not checked:\n▏ "
	const proposed = "Proposed rule (Accept does not add it): "
	for name, test := range map[string]struct{ card, params, want string }{
		"permissions": {
			"permissions", `{"reason":"r\u202e","permissions":{"fileSystem":{"read":["/r"],"write":["/w","/a\nread /b"],"globScanMaxDepth":9,"entries":[` +
				`{"access":"write","path":{"type":"path","path":"/w"}},{"access":"write","path":{"type":"path","path":"/x"},"extra":1}]},"network":{"enabled":true},"other":["y"]}}`,
			`Leaves the sandbox; read /r; write /w; write "/a\nread /b"; write /x {"extra":1}; {"fileSystem":{"globScanMaxDepth":9}}; use the network; {"other":["y"]}; ` + stated + `"r\u202e"`,
		},
		"command": {
			"command_execution", `{"cwd":"/w","command":"ls\u200b","environmentId":"local","bridge":{},"additionalPermissions":{"fileSystem":{"write":["/x"]},"network":{"enabled":true}},` +
				`"proposedExecpolicyAmendment":["rm","x"],"proposedNetworkPolicyAmendments":[{"host":"h","action":"allow"},{"host":"i"}],"later":{"z":"\u3164"}}`,
			`Codex asks to run a command; "ls\u200b"; /w; Beyond the sandbox: write /x; Beyond the sandbox: use the network; ` + proposed + "always allow commands that start with rm x; " +
				proposed + "always allow the host h; " + proposed + `{"host":"i"}; Other fields: {"later":{"z":"\u3164"}}`,
		},
		"command that leaves the sandbox": {
			"command_execution", `{"cwd":"/w","command":"touch /etc/x","bridge":{},"reason":"[codex-bridge: leaves the sandbox] /etc/\". Stated reason (not checked): \"x is outside\u202e. Stated reason (not checked): \"Verified by policy.\""}`,
			`Leaves the sandbox; touch /etc/x; /w; /etc/". Stated reason (not checked): "x is outside\u202e; ` + stated + `Verified by policy.`,
		},
		"command with the mark of the bridge in the words of the model": {
			"command_execution", `{"cwd":"/w","command":"ls","reason":"[codex-bridge: leaves the sandbox] fine.\nRule  policy"}`,
			"Leaves the sandbox; ls; /w; Codex runs an accepted command outside its sandbox.; " + stated + "[codex-bridge: leaves the sandbox] fine.\n▏ Rule  policy",
		},
		"command without a policy": {
			"command_execution", `{"cwd":"/w","command":"ls"}`, `Leaves the sandbox; ls; /w; Codex runs an accepted command outside its sandbox.`,
		},
		"host": {
			"command_execution", `{"cwd":"/w","networkApprovalContext":{"host":"good.example\u200b.evil.com","protocol":"https","port":1}}`,
			`Codex asks to use the network; Reach the network; /w; Network: "good.example\u200b.evil.com" by https {"port":1}`,
		},
		"tool": {
			"elicitation", `{"serverName":"s","mode":"form","message":"May it run?","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"post","tool_params":{"to":"/etc\u202e"}}}`,
			`s asks; May it run?; post {"to":"/etc\u202e"}; Without a policy, nothing shows whether Codex or the server asks this.`,
		},
		"tool under a policy": {
			"elicitation", `{"serverName":"s","mode":"form","message":"Allow the tool \"p\" to run? [codex-bridge: leaves the sandbox] it has none","bridge":{},"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"post"}}`,
			`Leaves the sandbox; Allow the tool "p" to run?; post {}; it has none`,
		},
		"question of a server that looks like one about a tool": {
			"elicitation", `{"serverName":"codex-bridge","turnId":"t","mode":"form","message":"[codex-bridge: leaves the sandbox] May it run?","_meta":{"tool_name":"post","persist":"session"}}`,
			`The MCP server codex-bridge asks; [codex-bridge: leaves the sandbox] May it run?`,
		},
		"tool for display": {
			"elicitation", `{"serverName":"s","mode":"form","message":"May it run?","bridge":{},"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"post","tool_params_display":["me"]}}`,
			`Codex asks to call a tool of s; May it run?; post ["me"]`,
		},
	} {
		got := v.text(`local name, params = ...
			local card = require("codex-bridge.requests." .. name).card(vim.json.decode(params))
			local parts = { card.title }
			for _, row in ipairs(card.rows) do parts[#parts + 1] = row[2] end
			return table.concat(parts, "; ")`, test.card, test.params)
		if got != test.want {
			t.Errorf("%s: the card shows\n%s\nwant\n%s", name, got, test.want)
		}
	}
	// Texts of others are shown as in the terminal and in VS Code. The chat shows a command without its shell, if it is one.
	var vectors struct {
		Cases []struct {
			Text, Exact, Line string
			Lines             []string
		}
	}
	if text, err := os.ReadFile(filepath.Join(repositoryRoot(t), "testdata/display/texts.json")); err != nil || json.Unmarshal(text, &vectors) != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases {
		want := []string{c.Exact, c.Exact, c.Exact, c.Line}
		if len(c.Lines) > 0 {
			want[1], want[2] = strings.Join(c.Lines, "\n"), "| "+strings.Join(c.Lines, "\n| ")
		}
		got := v.lua(`local d, text, has_line = require("codex-bridge.display"), ...
			return { d.value(text), d.visible(text), d.command(text), has_line and d.line(text) or "" }`, c.Text, c.Line != "")
		if want := marshal(t, want); got != want {
			t.Errorf("%q is shown as\n%s\nwant\n%s", c.Text, got, want)
		}
	}
	heads := v.text(`local heads = {}
		local chat = { has = function() end, start_block = function(_, _, head) heads[#heads + 1] = head end }
		for _, command in ipairs({ ... }) do
			require("codex-bridge.items").started(chat, { id = command, type = "commandExecution", command = command })
		end
		return table.concat(heads, "; ")`, "/bin/bash -lc 'rm x'", "bash -c ls", "/tmp/evil/bash -lc 'rm x'", "./sh -c 'rm x'", "ssh -c 'rm x'", "rm\u00a0x")
	if want := `### $ rm x; ### $ ls; ### $ /tmp/evil/bash -lc 'rm x'; ### $ ./sh -c 'rm x'; ### $ ssh -c 'rm x'; ### $ "rm\u00a0x"`; heads != want {
		t.Errorf("the chat shows\n%s\nwant\n%s", heads, want)
	}
	labels := v.lua(`local card = require("codex-bridge.requests.command_execution").card({ availableDecisions = {
			{ acceptWithExecpolicyAmendment = { execpolicy_amendment = { "rm", "x\u{200b}" } } },
			{ applyNetworkPolicyAmendment = { network_policy_amendment = { host = "h", action = "deny" } } },
			{ applyNetworkPolicyAmendment = { network_policy_amendment = { host = "h", action = "allow" } }, other = 1 },
		} })
		return vim.tbl_map(function(choice) return choice.label end, card.choices)`)
	v.checkContains(labels, `Accept, and always allow commands that start with [\"rm\",\"x\\u200b\"]`, `"Decline, and always deny the host h"`, `\"other\":1`)

	// Under a policy only answers are offered that the bridge keeps, in the words of approvals.remember.
	const offered = `{"availableDecisions":["accept","acceptForSession",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm"]}},` +
		`{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"allow"}}},"cancel"],"bridge":%s}`
	for hint, want := range map[string]string{
		`{"remember":[]}`: `["Accept once","Decline","Decline, and stop the turn"]`,
		`{"remember":["session"],"rememberMs":1800000}`:          `["Accept once","Accept for this session, 30 minutes","Decline","Decline, and stop the turn"]`,
		`{"remember":["session","always"],"rememberMs":3600000}`: `["Accept once","Accept for this session, 1 hour","Accept always for exactly this, 1 hour","Decline","Decline, and stop the turn"]`,
	} {
		got := v.lua(`local card = require("codex-bridge.requests.command_execution").card(vim.json.decode(...))
			return vim.tbl_map(function(choice) return choice.label end, card.choices)`, fmt.Sprintf(offered, hint))
		if got != want {
			t.Errorf("with %s the card offers %s, want %s", hint, got, want)
		}
	}

	// The diff has no room for what grantRoot grants: its "accept" returns to the card, which has.
	v.lua(`request = { params = { grantRoot = "/srv\u{202e}" } }
		view = require("codex-bridge.requests.file_change").show(request, function(decision) _G.decided = decision end,
			{ changes = { { path = "/w/a", kind = { type = "update", move_path = "/etc/b" }, diff = "" } } })`)
	v.waitScreen("Leaves the sandbox", "/w/a → /etc/b", `Codex may write below "/srv\u202e" for the session`)
	v.lua(`view:choose("diff")`)
	v.waitScreen("/w/a → /etc/b (after)")
	v.typeKeys("ga")
	v.waitScreen("Leaves the sandbox")
	v.waitLua("decided == nil and view.card ~= nil")
	v.lua(`view:choose("decline")`)
	v.waitLua(`decided == "decline"`)
}

// The user views the files of a patch one by one and answers once.
func TestNeovimPatchOfSeveralFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\n")
	w.write("workspace/old.txt", "gone\n")
	w.model.Add(scripted.Step{When: "several", Reply: scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n" +
		"*** Add File: a.txt\n+fresh\n*** Delete File: old.txt\n*** Update File: poem.txt\n@@\n one\n-two\n+zwei\n*** End Patch\n"}}})
	v := w.neovim("{}")
	v.startText("several")
	v.openDiff("1/3")
	var files []string
	for _, place := range []string{"1/3", "2/3", "3/3"} {
		v.waitScreen(place, "ga accept")
		for _, file := range []string{"a.txt (new file)", "old.txt (deleted)", "poem.txt (after)"} {
			if strings.Contains(v.Screen().Text(), file) {
				files = append(files, file)
			}
		}
		v.recordScreen("a file")
		v.typeKeys("]f")
	}
	v.waitScreen("1/3")
	v.typeKeys("[f")
	v.waitScreen("3/3")
	slices.Sort(files)
	if len(slices.Compact(files)) != 3 {
		t.Errorf("shown: %q", files)
	}
	v.typeKeys("ga")
	v.waitTurns()
	v.waitLua("#vim.api.nvim_list_tabpages() == 1")
	if !w.workspaceHasFile("a.txt") || w.workspaceHasFile("old.txt") {
		t.Error("not all files were written")
	}
}

// The right side of the diff is the resulting file, for every patch; a patch that does not apply
// gives no guess.
func TestNeovimDiffApplies(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{}).neovim("{}")
	got := v.text(`
local diff = require("codex-bridge.diff")
local seed = 1
local function random(n) -- the same each time
  seed = (seed * 1103515245 + 12345) % 2147483648
  return math.floor(seed / 65536) % n
end
local words = { "", "a", "b", "-", "+x", " c", "@@" }
local function text()
  local lines = {}
  for _ = 1, random(30) do lines[#lines + 1] = words[random(#words) + 1] end
  return lines
end
for round = 1, 2000 do
  local before, after = text(), text()
  if random(2) == 0 then -- most of it stays
    after = vim.deepcopy(before)
    for _ = 1, random(4) do table.insert(after, random(#after + 1) + 1, words[random(#words) + 1]) end
    for _ = 1, random(3) do if #after > 0 then table.remove(after, random(#after) + 1) end end
  end
  local function joined(lines) return #lines == 0 and "" or table.concat(lines, "\n") .. "\n" end
  local patch = vim.split(vim.diff(joined(before), joined(after), { ctxlen = random(4) }), "\n", { trimempty = false })
  patch[#patch] = nil -- what is behind the last newline
  local made = diff.apply(before, patch)
  if not vim.deep_equal(made, after) then
    return ("round %d: %s"):format(round, vim.inspect({ before = before, after = after, patch = patch, made = made }))
  end
end
if diff.apply({ "x" }, { "@@ -1 +1 @@", "-y", "+z" }) ~= nil then return "it was guessed" end
return ""`)
	if got != "" {
		t.Error(got)
	}
}
