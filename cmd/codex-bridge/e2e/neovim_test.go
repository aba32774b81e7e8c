//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/scripted"
)

// A person opens the chat, writes, and reads the answer; then says more with commands.
func TestNeovimChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.types(":Codex<CR>")
	v.sees("Ask Codex…", "<CR> sends")
	v.shot("opened")
	v.types("igood day<CR>to you<Esc><CR>")
	v.said++
	v.ends()
	v.sees("## You", "## Codex", "codex: idle · policy off · readOnly")
	v.wants(v.chat(), "## You\n\ngood day\nto you\n\n## Codex\n\nHello from the scripted model. You said: good day\nto you\n")
	v.shot("answered")

	v.says("RUN: seq 1 6")
	v.sees("▸ $ ", "exit 0 · 6 lines")
	v.wants(v.chat(), "\n````\n1\n2\n", "\n6\n````\n")
	v.shot("a command")
	if got := v.lua("return vim.fn.getbufvar('codex://chat', '&filetype')"); got != `"markdown"` {
		t.Errorf("the chat is %s", got)
	}

	// Keys of the insert mode send, too; and the text is gone from the prompt.
	v.types("iSAY: sent from insert mode<C-s>")
	v.said++
	v.ends()
	v.wants(v.chat(), "## Codex\n\nsent from insert mode\n")
	v.sees("Ask Codex…")

	v.types(":CodexNew<CR>")
	v.until("chat() == '' and require('codex-bridge').about().thread == nil")
	v.says("SAY: another thread")
	if got := v.lua("return #seen('CodexThread')"); got != "2" {
		t.Errorf("%s threads", got)
	}
	if last := w.model.Requests()[len(w.model.Requests())-1]; last.Contains("good day") {
		t.Error("the new thread knows the old one")
	}

	// What a failed turn says is to be read.
	v.says("FAIL")
	v.wants(v.chat(), "> The scripted model was told to fail.")
	v.shot("failed")

	// Windows come and go, the conversation stays.
	v.lua("require('codex-bridge').hide()")
	v.until("#vim.api.nvim_list_wins() == 1")
	v.types(":Codex<CR>")
	v.sees("another thread")

	// Nothing of ours outlives Neovim.
	v.types(":qa!<CR>")
	if left := w.await(func(pids []int) bool { return len(pids) == 0 }); len(left) > 0 {
		t.Errorf("after the end of Neovim there are:%s", describe(left))
	}
}

// A selection is sent with where it is from, or quoted in the prompt to write above it.
func TestNeovimSelection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/sum.py", "a = 1\nb = 2\nprint(a + b)\n")
	v := w.neovim("{}")
	v.types(":edit sum.py<CR>")
	v.says("SAY: first")
	v.lua("vim.cmd('wincmd t')")
	v.types(":2,3Codex what is this<CR>")
	v.said++
	v.ends()
	quote := "sum.py, lines 2 to 3:\n```python\nb = 2\nprint(a + b)\n```"
	v.wants(v.chat(), "## You\n\nwhat is this\n\n"+quote+"\n")

	v.lua("vim.cmd('wincmd t')")
	v.types("ggVj:Codex<CR>")
	v.until("vim.api.nvim_buf_get_name(0) == 'codex://prompt'")
	v.shot("quoted")
	v.types("iand this?<Esc><CR>")
	v.said++
	v.ends()
	v.wants(v.chat(), "and this?\n\nsum.py, lines 1 to 2:\n```python\na = 1\nb = 2\n```\n")
	v.shot("answered")
}

// A command is asked about, with its folder; what is declined does not run, what is put
// off waits, and nothing is chosen by keys that are meant for a text.
func TestNeovimApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.begins("ESCALATE: touch accepted")
	v.sees("Run in ", "1: Accept", "Decline")
	v.shot("asked")
	v.types("1<CR>")
	v.ends()
	if !w.exists("accepted") {
		t.Error("what was accepted did not run")
	}
	v.shot("accepted")

	v.begins("ESCALATE: touch declined")
	v.sees("Run in ", "touch declined")
	v.types("<CR>") // closed without a choice
	v.until("vim.api.nvim_get_mode().mode == 'n' and require('codex-bridge').status() == 'codex: 1 to answer'")
	v.types(":CodexApprovals<CR>")
	v.sees("1: Accept", "touch declined")
	choice := 0
	for i := 1; i <= 6; i++ {
		if strings.Contains(v.Screen().Text(), fmt.Sprintf("%d: Decline\n", i)) {
			choice = i
		}
	}
	v.types(fmt.Sprintf("%d<CR>", choice))
	v.ends()
	if w.exists("declined") {
		t.Error("what was declined ran")
	}
	v.sees("declined")

	// While a person writes, a question waits.
	v.said++
	v.types(":Codex<CR>iESCALATE: touch later<C-s>i1 is what I write")
	v.until("require('codex-bridge').about().pending_requests == 1")
	v.until("vim.api.nvim_get_mode().mode == 'i'")
	v.types("<Esc>")
	v.sees("Run in ", "touch later")
	if w.exists("later") {
		t.Error("it was chosen while somebody wrote")
	}
	v.types("1<CR>")
	v.ends()
	v.wants(v.text("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('codex://prompt'), 0, 1, true)[1]"), "1 is what I write")
	if !w.exists("later") {
		t.Error("what was accepted did not run")
	}
}

// update is a patch of the model's that changes one line of a file.
func update(path, context, from, to string) scripted.Reply {
	return scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: fmt.Sprintf(
		"*** Begin Patch\n*** Update File: %s\n@@\n %s\n-%s\n+%s\n*** End Patch\n", path, context, from, to)}}
}

// A patch is shown as a diff in a tab of its own, and is gone when it is answered.
// Buffers are read again, but for those with changes of their own.
func TestNeovimPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\nthree\nfour\n")
	w.model.Add(
		scripted.Step{When: "first change", Reply: update("poem.txt", "one", "two", "zwei")},
		scripted.Step{When: "second change", Reply: update("poem.txt", "zwei", "three", "drei")},
		scripted.Step{When: "third change", Reply: update("poem.txt", "drei", "four", "vier")},
	)
	v := w.neovim("{}")
	v.types(":edit poem.txt<CR>")
	v.begins("the first change")
	v.sees("poem.txt (now)", "zwei", "ga accept")
	v.shot("asked")
	if got := v.lua("return #vim.api.nvim_list_tabpages()"); got != "2" {
		t.Errorf("%s tabs", got)
	}
	v.types("ga")
	v.ends()
	v.until("#vim.api.nvim_list_tabpages() == 1")
	poem := "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('poem.txt'), 0, -1, true), ' ')"
	if got := v.text(poem); got != "one zwei three four" {
		t.Errorf("the buffer has %q", got)
	}
	v.sees("▸ Patch poem.txt · done")
	v.shot("accepted")

	v.begins("the second change")
	v.sees("poem.txt (now)", "drei")
	v.types("gr")
	v.ends()
	v.until("#vim.api.nvim_list_tabpages() == 1")
	if got := v.text(poem); got != "one zwei three four" {
		t.Errorf("declined, and the buffer has %q", got)
	}

	// A new file; the tab is closed and comes back.
	v.begins("PATCH: new.txt\nfresh")
	v.sees("new.txt (new file)")
	v.types(":q<CR>")
	v.until("#vim.api.nvim_list_tabpages() == 1 and require('codex-bridge').about().pending_requests == 1")
	v.types(":CodexApprovals<CR>")
	v.sees("new.txt (new file)")
	v.types(":CodexAccept<CR>")
	v.ends()
	if !w.exists("new.txt") {
		t.Error("the accepted file is not there")
	}

	// A buffer with changes of its own is left alone.
	v.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('poem.txt'), 0, 1, true, { 'mine' })")
	w.write("workspace/poem.txt", "one\nzwei\ndrei\nfour\n")
	v.begins("the third change")
	v.sees("ga accept", "vier")
	v.types("ga")
	v.until("vim.api.nvim_exec2('messages', { output = true }).output:find('your buffer has changes')")
	v.ends()
	if got := v.text(poem); got != "mine zwei three four" {
		t.Errorf("the changed buffer has %q", got)
	}
	if raw, _ := os.ReadFile(filepath.Join(w.workspace, "poem.txt")); string(raw) != "one\nzwei\ndrei\nvier\n" {
		t.Errorf("the file has %q", raw)
	}
}

// A turn that is stopped takes its questions with it.
func TestNeovimStopWhileAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{}")
	v.begins("PATCH: new.txt\nfresh")
	v.sees("new.txt (new file)")
	v.lua("require('codex-bridge').stop()")
	v.ends()
	v.until("#vim.api.nvim_list_tabpages() == 1 and require('codex-bridge').about().pending_requests == 0")
	v.wants(v.chat(), "> stopped")
	if w.exists("new.txt") {
		t.Error("it was written")
	}
}

// The model asks; the person chooses, or writes.
func TestNeovimQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "[features]\ndefault_mode_request_user_input = true\n"})
	v := w.neovim("{}")
	v.begins("ASK: Shall I?")
	v.sees("Shall I?", "1: Yes (Recommended): Go on.", "2: No", "3: Something else…")
	v.shot("asked")
	v.types("2<CR>")
	v.ends()
	v.wants(w.told(), `"No"`)

	v.begins("ASK: Really?")
	v.sees("Really?", "3: Something else…")
	v.types("3<CR>")
	v.until("vim.api.nvim_get_mode().mode == 'c'")
	v.types("perhaps<CR>")
	v.ends()
	v.wants(w.told(), `"perhaps"`)
}

// A server asks for consent, and then by a form of its own.
func TestNeovimElicitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: mcpConfig("probe") + "[mcp_servers.probe.tools.ask]\napproval_mode = \"approve\"\n"})
	v := w.neovim("{ thread = { approvalPolicy = 'on-request', sandbox = 'read-only' } }")
	v.begins("CALL: mcp__probe/ask {}")
	v.sees("probe asks: ", "1: Accept")
	v.types("1<CR>")
	v.until("vim.api.nvim_get_mode().mode == 'c'")
	v.types("7<CR>")
	v.ends()
	v.wants(w.told(), `"action":"accept"`, "7")
}

// More permissions are granted for what was asked, or not at all.
func TestNeovimPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n"})
	v := w.neovim("{}")
	elsewhere := filepath.Join(w.root, "elsewhere")
	call := fmt.Sprintf(`CALL: request_permissions {"reason":"to build","permissions":{"file_system":{"write":[%q]}}}`, elsewhere)
	v.begins(call)
	v.sees("Let Codex ", "to build", "1: Grant for this turn", "3: Decline")
	v.shot("asked")
	v.types("1<CR>")
	v.ends()
	v.wants(w.told(), elsewhere, `"turn"`)
	v.begins(call)
	v.sees("Let Codex ", "3: Decline")
	v.types("3<CR>")
	v.ends()
	if told := w.told(); strings.Contains(told, elsewhere) {
		t.Errorf("declined, and the model was told %s", told)
	}
}

// Codex asks for entries, which are in no list of paths.
func TestNeovimPermissionEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n"})
	v := w.neovim("{}")
	v.begins(`CALL: request_permissions {"reason":"to build","permissions":{"file_system":{"entries":[` +
		`{"access":"write","path":{"type":"path","path":"/srv/entry"}},{"access":"deny","path":{"type":"glob_pattern","pattern":"/etc/*.key"}},` +
		`{"access":"write","path":{"type":"special","value":{"kind":"root"}}}]}}}`)
	v.sees("Let Codex write /srv/entry; deny all files that match /etc/*.key; write {", `"kind":"root"`, "3: Decline")
	v.types("3<CR>")
	v.ends()
}

// The cards show all that an answer grants, also that for which they have no words.
func TestNeovimCardsShowAllThatIsGranted(t *testing.T) {
	t.Parallel()
	v := newWorld(t, options{}).neovim("{}")
	const proposed = "Proposed rule (Accept does not add it): "
	for name, test := range map[string]struct{ card, params, want string }{
		"permissions": {
			"permissions", `{"reason":"r\u202e","permissions":{"fileSystem":{"read":["/r"],"write":["/w","/a\nread /b"],"globScanMaxDepth":9,"entries":[` +
				`{"access":"write","path":{"type":"path","path":"/w"}},{"access":"write","path":{"type":"path","path":"/x"},"extra":1}]},"network":{"enabled":true},"other":["y"]}}`,
			`Let Codex read /r; write /w; write /a\u{a}read /b; write /x {"extra":1}; {"fileSystem":{"globScanMaxDepth":9}}; use the network; {"other":["y"]} — r\u{202e}`,
		},
		"command": {
			"command_execution", `{"cwd":"/w","command":"ls\u200b","environmentId":"local","additionalPermissions":{"fileSystem":{"write":["/x"]},"network":{"enabled":true}},` +
				`"proposedExecpolicyAmendment":["rm","x"],"proposedNetworkPolicyAmendments":[{"host":"h","action":"allow"},{"host":"i"}],"later":{"z":"\u3164"}}`,
			`Run in /w: ls\u{200b} — Beyond the sandbox: write /x — Beyond the sandbox: use the network — ` + proposed + "always allow commands that start with rm x — " +
				proposed + "always allow the host h — " + proposed + `{"host":"i"} — Other fields: {"later":{"z":"\u{3164}"}}`,
		},
		"host": {
			"command_execution", `{"cwd":"/w","networkApprovalContext":{"host":"good.example\u200b.evil.com","protocol":"https","port":1}}`,
			`Reach the network from /w — Network: good.example\u{200b}.evil.com by https {"port":1}`,
		},
		"tool": {
			"elicitation", `{"serverName":"s","mode":"form","message":"May it run?","_meta":{"tool_name":"post","tool_params":{"to":"/etc\u202e"}}}`,
			`s asks: May it run? — post {"to":"/etc\u{202e}"}`,
		},
		"tool for display": {
			"elicitation", `{"serverName":"s","mode":"form","message":"May it run?","_meta":{"tool_name":"post","tool_params_display":["me"]}}`,
			`s asks: May it run? — post ["me"]`,
		},
	} {
		got := v.text(`local card, params = ...
			local shown
			vim.ui.select = function(_, options) shown = options.prompt end
			require("codex-bridge.requests." .. card).show(vim.json.decode(params), function() end)
			return shown`, test.card, test.params)
		if got != test.want {
			t.Errorf("%s: the card shows\n%s\nwant\n%s", name, got, test.want)
		}
	}
	labels := v.lua(`local shown
		vim.ui.select = function(items, options) shown = vim.tbl_map(options.format_item, items) end
		require("codex-bridge.requests.command_execution").show({ availableDecisions = {
			{ acceptWithExecpolicyAmendment = { execpolicy_amendment = { "rm", "x\u{200b}" } } },
			{ applyNetworkPolicyAmendment = { network_policy_amendment = { host = "h", action = "deny" } } },
			{ applyNetworkPolicyAmendment = { network_policy_amendment = { host = "h", action = "allow" } }, other = 1 },
		} }, function() end)
		return shown`)
	v.wants(labels, `"Accept, and always allow commands that start with rm x\\u{200b}"`, `"Decline, and always deny the host h"`, `\"other\":1`)
	v.lua(`vim.ui.select = function(_, options, done) _G.asked = options.prompt; _G.choose = done end
		require("codex-bridge.requests.file_change").show({ grantRoot = "/srv\u{202e}" }, function(decision) _G.decided = decision end,
			{ changes = { { path = "/w/a", kind = { type = "update", move_path = "/etc/b" }, diff = "" } } })`)
	v.sees("/w/a → /etc/b (after)")
	v.types("ga")
	v.until(`asked == "This lets Codex write below /srv\\u{202e} for the session." and decided == nil`)
	v.lua(`choose("decline")`)
	v.until(`decided == "decline"`)
}

// A patch of several files is looked at one by one, and answered once.
func TestNeovimPatchOfSeveralFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\n")
	w.write("workspace/old.txt", "gone\n")
	w.model.Add(scripted.Step{When: "several", Reply: scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n" +
		"*** Add File: a.txt\n+fresh\n*** Delete File: old.txt\n*** Update File: poem.txt\n@@\n one\n-two\n+zwei\n*** End Patch\n"}}})
	v := w.neovim("{}")
	v.begins("several")
	var files []string
	for _, place := range []string{"1/3", "2/3", "3/3"} {
		v.sees(place, "ga accept")
		for _, file := range []string{"a.txt (new file)", "old.txt (deleted)", "poem.txt (after)"} {
			if strings.Contains(v.Screen().Text(), file) {
				files = append(files, file)
			}
		}
		v.shot("a file")
		v.types("]f")
	}
	v.sees("1/3")
	v.types("[f")
	v.sees("3/3")
	slices.Sort(files)
	if len(slices.Compact(files)) != 3 {
		t.Errorf("shown: %q", files)
	}
	v.types("ga")
	v.ends()
	v.until("#vim.api.nvim_list_tabpages() == 1")
	if !w.exists("a.txt") || w.exists("old.txt") {
		t.Error("not all of it was written")
	}
}

// The diff's right side is the file that the patch would make, for every patch; and one
// that does not fit is not guessed at.
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
