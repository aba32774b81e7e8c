//go:build linux

package e2e_test

import "testing"

// Questions work with pickers that answer later, also if the turn ends before the answer.
func TestNeovimLaterPickers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "[features]\ndefault_mode_request_user_input = true\n"})
	v := w.neovim("{}")
	v.lua(laterPicker)
	v.lua(`choose, answers = { "Something else" }, { "perhaps" }`)
	v.runText("ASK: Shall I?")
	v.checkContains(w.lastToolOutput(), `"perhaps"`)
	v.checkContains(v.lua("return pickers"), `"kind":"codex-question"`, "Yes (Recommended)")

	// A question shows its invisible characters, in a line. An empty secret is no answer.
	v.lua(`vim.fn.inputsecret = function() return "" end
local ask = require("codex-bridge.requests.user_input")
choose = { "Yes" }
ask.show({ params = { questions = { { id = "a", question = "Shall\226\128\174\n I?", options = { { label = "Yes\226\128\139" } } } } } }, function() end)
ask.show({ params = { questions = { { id = "a", question = "Token?", isSecret = true } } } }, function(answer) secret = answer == nil and "none" end)`)
	v.checkContains(v.lua("return pickers[#pickers]"), `"prompt":"\"Shall\\u202e\" I?"`, `"\"Yes\\u200b\""`)
	v.waitLua("secret == 'none'")

	// The picker of a stopped turn is still open; its answer changes nothing.
	v.lua(`vim.ui.select = function(items, options, done) late = function() done(items[1], 1) end end`)
	v.startText("ASK: Really?")
	v.waitLua("late ~= nil")
	v.typeKeys(":CodexStop<CR>")
	v.waitTurns()
	v.lua("late() late()")
	v.waitLua("require('codex-bridge').about().pending_requests == 0 and require('codex-bridge').about().state == 'idle'")
	v.lua(laterPicker)
	v.lua(`choose = { "No" }`)
	v.runText("ASK: And now?")
	v.checkContains(w.lastToolOutput(), `"No"`)

	// So does the choice of a thread.
	v.typeKeys(":CodexNew<CR>")
	v.runText("SAY: another")
	v.lua(`choose = { "Shall I" }`)
	v.typeKeys(":CodexResume<CR>")
	v.waitLua("chat():find('And now?', 1, true) and not chat():find('another', 1, true)")
	v.checkContains(v.lua("return pickers[#pickers]"), `"kind":"codex-thread"`)
}
