//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
