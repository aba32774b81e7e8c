//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// In a folder that Codex does not trust, Codex alone opens a thread read-only, and the plugin says so. Under an
// enforced policy the plugin asks for a sandbox that can write, as VS Code does: a patch stays in the sandbox and can be
// edited, and Codex still does not trust the folder.
func TestNeovimDefaultSandbox(t *testing.T) {
	t.Parallel()
	const readOnly = "The sandbox is read-only, because Codex does not trust this folder"
	for name, test := range map[string]struct {
		config, title string
		isReadOnly    bool
	}{
		"policy":         {neovimPolicy, "Codex asks to change files", false},
		"without policy": {"", "Codex asks to change files", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config, codex: codexPath, mute: "the configuration of Codex is read"})
			v := w.neovim("{}")
			v.startText("PATCH: new.txt\nfresh")
			v.waitScreen(test.title, "ge  Edit, then accept")
			v.decline()
			v.waitTurns()
			v.runText("SAY: again")
			if n := strings.Count(v.chatText(), readOnly); (n == 1) != test.isReadOnly {
				t.Errorf("the chat says %d times that the sandbox is read-only:\n%s", n, v.chatText())
			}
			want := map[bool]string{true: `"readOnly"`, false: `"workspaceWrite"`}[test.isReadOnly]
			if got := v.lua("return require('codex-bridge').about().thread.sandbox.type"); got != want {
				t.Errorf("the sandbox is %s", got)
			}
			if raw, err := os.ReadFile(filepath.Join(w.home, "config.toml")); err != nil || strings.Contains(string(raw), w.workspace) {
				t.Errorf("Codex trusts the folder: %s, %v", raw, err)
			}
		})
	}
}

// A setting of a shared thread that another client changes is told once, with the old and the new value. A choice of the
// plugin's user is not.
func TestNeovimSettingsOfOtherClients(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	v := w.neovim("{}")
	v.lua(laterPicker)
	v.runText("SAY: one")
	other := w.joined()
	thread := v.text("return require('codex-bridge').about().thread.id")
	other.must("thread/resume", map[string]any{"threadId": thread})
	v.typeKeys(":Codex /effort low<CR>")
	v.waitLua("noted('Effort: low, from your next message')")
	mark := other.Mark()
	v.runText("SAY: two")
	other.waitFor(mark, "thread/settings/updated", func(m editor.Message) bool { return m.Param("threadSettings", "effort") == "low" })
	turn, mark := other.startTurnWith(thread, "SAY: three", map[string]any{"effort": "high", "sandboxPolicy": map[string]any{"type": "readOnly"}})
	other.waitTurn(thread, turn, mark)
	v.waitLua("chat():find('three', 1, true)")
	other.runTurn(thread, "SAY: four")
	v.waitLua("chat():find('four', 1, true)")
	const told = "> Another client changed the settings of this thread: effort low → high; sandbox workspaceWrite → readOnly\n"
	if chat := v.chatText(); strings.Count(chat, "Another client changed") != 1 || !strings.Contains(chat, told) {
		t.Errorf("the chat says\n%s", chat)
	}
	v.recordScreen("settings of another client")
}

// The files of a large patch are grouped by folder, in its card, while the turn runs and afterwards. A closed folder has one
// line. A patch that can't be edited says why.
func TestNeovimManyFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(neovimPolicy, "\"untrusted\"", "\"on-request\", \"untrusted\"", 1) + "escalation = \"ask\"\n"})
	var patch strings.Builder
	for i := range 24 {
		fmt.Fprintf(&patch, "*** Add File: src/part%d/file%02d.txt\n+one\n+two\n", i%2, i)
	}
	outside := filepath.Join(w.root, "outside.txt")
	call := func(files string) scripted.Reply {
		return scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n" + files + "*** End Patch\n"}}
	}
	w.model.Add(
		scripted.Step{When: "many and outside", Reply: call(patch.String() + "*** Add File: " + outside + "\n+one\n")},
		scripted.Step{When: "only many", Reply: call(patch.String())},
	)
	v := w.neovim("{}")
	v.lua(laterPicker + changesLua)
	v.startText("many and outside")
	v.waitScreen("Leaves the sandbox", "25 files", "src/part0/  12 files", "src/part1/  12 files", "Edit    not possible, because the patch")
	if strings.Contains(v.Screen().Text(), "ge  Edit") {
		t.Error("an edit is offered")
	}
	v.recordScreen("many files")
	v.decline()
	v.waitTurns()

	v.runText("only many")
	v.waitLua("#seen('CodexChanges') == 1")
	const closed = "### 24 files changed\n\n▸ src/part0/  12 files  +24 -0\n▸ src/part1/  12 files  +24 -0\n"
	v.checkContains(v.chatText(), closed)
	v.typeKeys(":CodexChanges<CR>")
	v.waitLua("changes_text():find('▸ src/part1/', 1, true)")
	v.lua("at_change('▸ src/part1/')")
	v.typeKeys("gr")
	v.waitLua("noted('This line is a folder. gd opens and closes it.')")
	v.typeKeys("<CR>")
	v.waitLua("changes_text():find('▾ src/part1/  12 files  +24 -0\\nA src/part1/file01.txt  +2 -0', 1, true)")
	v.recordScreen("an open folder")
	v.lua("at_change('A src/part1/file01.txt')")
	v.typeKeys("gr")
	v.waitLua("noted('Undone: src/part1/file01.txt') and changes_text():find('▾ src/part1/  11 files', 1, true)")
	if w.workspaceHasFile("src/part1/file01.txt") || !w.workspaceHasFile("src/part0/file00.txt") {
		t.Error("another file is undone")
	}
}
