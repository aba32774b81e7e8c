//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const neovimSettings = "[policy]\nmode = \"enforce\"\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nmodels = [\"gpt-5.5\", \"gpt-6*\"]\ngate = false\n"

// The pickers show what the policy does not allow with the reason and the place of the rule, and do not take it. A choice is
// sent with the next turn/start, and shown before and after it.
func TestNeovimPickers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: neovimSettings})
	v := w.neovim("{ thread = { sandbox = 'read-only' } }")
	v.runText("SAY: hello")
	v.lua(laterPicker)
	v.lua(`sent = {}
local connection = require("codex-bridge.session").current().host.connection
local request = connection.request
connection.request = function(self, method, params, callback)
  if method == "turn/start" then sent[#sent + 1] = vim.deepcopy(params) end
  return request(self, method, params, callback)
end`)
	place := func(key string) string { return fmt.Sprintf("config.toml:%d)", lineOf(neovimSettings, key)) }

	// The first answer is refused, so the picker comes again; the second one holds.
	v.lua(`choose = { "danger-full-access", "workspace-write" }`)
	v.typeKeys(":Codex /sandbox<CR>")
	v.waitLua("#pickers == 2 and require('codex-bridge').component('sandbox') == 'workspaceWrite (next)' and noted('The policy does not allow danger-full-access.')")
	picker := v.lua("return pickers[1]")
	v.checkContains(picker, "read-only: Commands can read files. (current)", `"workspace-write: Commands can also write in the folder."`,
		"✗ danger-full-access. Not allowed: danger-full-access is more than workspace-write (", place("sandbox"))

	v.lua(`pickers, choose = {}, { "Approval policy" }`)
	v.typeKeys(":Codex /permissions<CR>")
	v.waitLua("#pickers == 2")
	v.checkContains(v.lua("return pickers[1]"), `"Approval policy","Sandbox"`)
	v.checkContains(v.lua("return pickers[2]"), "✗ untrusted. Not allowed: ", "on-request: Codex asks before it leaves the sandbox. (current)", "✗ granular. Not allowed: ", "✗ never. Not allowed: ", place("approval"))

	v.lua(`pickers, choose = {}, { "gpt-6.1-sol" }`)
	v.typeKeys(":Codex /model<CR>")
	v.waitLua("require('codex-bridge').component('model') == 'gpt-6.1-sol (next)'")
	v.checkContains(v.lua("return pickers[1]"), "gpt-5.5", "(current)", "✗ gpt-5.", place("models"))
	v.typeKeys(":Codex /effort high<CR>")
	v.waitLua("require('codex-bridge').component('effort') == 'high (next)'")
	v.typeKeys(":Codex /effort much<CR>")
	v.waitLua("noted('Effort: there is no much')")
	v.typeKeys(":Codex /approval never<CR>")
	v.waitLua("noted('The policy does not allow never.')")
	v.checkContains(v.chatText(), "> ✗ never. Not allowed: ", place("approval"))
	if got := v.lua("return #sent"); got != "0" {
		t.Errorf("%s turns were started", got)
	}

	v.runText("SAY: with the choices")
	v.checkContains(v.lua("return sent[1]"), `"model":"gpt-6.1-sol"`, `"effort":"high"`, `"type":"workspaceWrite"`)
	if got := v.lua("return sent[1].approvalPolicy == nil"); got != "true" {
		t.Error("a refused choice was sent")
	}
	v.waitLua(`require('codex-bridge').component('model') == 'gpt-6.1-sol' and require('codex-bridge').component('effort') == 'high'
		and require('codex-bridge').component('sandbox') == 'workspaceWrite'`)
	if got := w.model.Requests()[len(w.model.Requests())-1]; !bytes.Contains(got.Body, []byte(`"model":"gpt-6.1-sol"`)) {
		t.Error("the model is another one")
	}
	v.runText("SAY: once more")
	if got := v.lua("return { sent[2].model == nil, sent[2].sandboxPolicy == nil }"); got != "[true,true]" {
		t.Errorf("the choices were sent again: %s", got)
	}
	v.recordScreen("chosen")
}

// Under the gate "untrusted" is allowed, although Codex gets another value. Without a bridge everything is allowed.
func TestNeovimPickersWithoutRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config, setup string
		refused       int
	}{
		"gate":        {neovimPolicy, "{}", 3},
		"audit":       {strings.Replace(neovimSettings, "enforce", "audit", 1), "{}", 0},
		"plain codex": {"", fmt.Sprintf("{ cmd = { %q, 'app-server' } }", codexPath), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newWorld(t, options{config: test.config}).neovim(test.setup)
			v.lua(laterPicker)
			v.lua(`choose = { "untrusted" }`)
			v.typeKeys(":Codex /approval<CR>")
			v.waitLua("require('codex-bridge').component('approval') == 'untrusted (next)'")
			if got := strings.Count(v.lua("return pickers[1].labels"), "Not allowed"); got != test.refused {
				t.Errorf("%d choices are refused: %s", got, v.lua("return pickers[1].labels"))
			}
			v.runText("SAY: hello")
			v.waitLua("not require('codex-bridge').component('approval'):find('next')")
		})
	}
}

// A granular approval policy of Codex's configuration is shown with its parts. The user changes a part, and the next turn
// has it.
func TestNeovimGranular(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		config:      "[policy]\nmode = \"enforce\"\napproval = [\"on-request\", \"granular\"]\ngate = false\n",
		codexConfig: "[approval_policy.granular]\nsandbox_approval = true\nrules = true\nmcp_elicitations = false\n",
	})
	v := w.neovim("{}")
	v.runText("SAY: hello")
	v.waitLua("require('codex-bridge').component('approval') == 'granular'")
	v.lua(laterPicker)
	v.lua(`choose = { "granular: Codex", "scripts of skills", "Done" }`)
	v.typeKeys(":Codex /approval<CR>")
	v.waitLua("#pickers == 3 and require('codex-bridge').component('approval') == 'granular (next)'")
	v.checkContains(v.lua("return pickers[1].labels"), "untrusted. Not allowed: ",
		"granular: Codex asks about commands outside the sandbox, commands that a rule of Codex names. It refuses without a question: scripts of skills, more permissions, questions of MCP servers. (current)")
	v.checkContains(v.lua("return pickers[2].labels"), "commands outside the sandbox: Codex asks.", "scripts of skills: Refused without a question.")
	v.checkContains(v.lua("return pickers[3].labels"), "scripts of skills: Codex asks.", "more permissions: Refused without a question.", "Done")
	v.runText("SAY: with another part")
	v.waitLua("require('codex-bridge').component('approval') == 'granular'")
	const want = `{"granular":{"mcp_elicitations":false,"request_permissions":false,"rules":true,"sandbox_approval":true,"skill_approval":true}}`
	if got := v.lua("return require('codex-bridge').about().thread.approvalPolicy"); got != want {
		t.Errorf("the approval policy is %s", got)
	}
}
