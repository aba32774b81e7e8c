//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// changesLua returns the lines of the list of changes or of the preview of a restore.
const changesLua = `
function changes_text(name)
  local buf = vim.fn.bufnr("codex://" .. (name or "changes"))
  return buf > 0 and table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n") or ""
end
function at_change(text)
  vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://changes"))
  return vim.fn.search("\\V" .. vim.fn.escape(text, "\\"), "w")
end`

// A turn of Codex changes files by a patch and by a command, while the user edits one of them. The user undoes a hunk,
// keeps a file, restores the rest after a preview, and takes the restore back. It works without a bridge too.
func TestNeovimChanges(t *testing.T) {
	t.Parallel()
	for name, cmd := range map[string]string{"bridge": "", "plain codex": fmt.Sprintf("cmd = { %q, 'app-server' }, ", codexPath)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			for _, name := range []string{"poem.txt", "second.txt"} {
				w.put(name, numbered(40, nil))
			}
			w.put("old.txt", "old\n")
			until := make(chan struct{})
			w.model.Add(
				scripted.Step{When: "change it", Reply: scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n*** Update File: poem.txt\n@@\n line 4\n-line 5\n+five\n line 6\n@@\n line 24\n-line 25\n+twenty-five\n line 26\n*** End Patch\n"}}},
				scripted.Step{When: "Success", Reply: scripted.Reply{scripted.Paused{Until: until}, scripted.Run("rm old.txt; printf 'made\\n' > made.txt; sed -i 's/^line 9$/nine/' second.txt")}},
			)
			v := w.neovim("{ " + cmd + "thread = { approvalPolicy = 'never', sandbox = 'danger-full-access' } }")
			v.lua(laterPicker + changesLua)
			v.typeKeys(":edit poem.txt<CR>")
			v.startText("change it")
			// Until now: the patch. The user edits the same file.
			v.waitLua("vim.fn.getline(5) == 'five'")
			v.lua("function prompt_height() return vim.fn.winheight(vim.fn.bufwinid('codex://prompt')) end; height = prompt_height()")
			v.typeKeys(":CodexChanges<CR>")
			v.waitLua("changes_text():find('The turn is running', 1, true) and changes_text():find('+twenty-five', 1, true)")
			v.checkContains(v.chatText(), "\n### 1 file changed\n\nM poem.txt  +2 -2\n")
			v.typeKeys(":q<CR>")
			v.waitLua("prompt_height() == height") // Neovim would give it the room of the list
			v.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('poem.txt'))")
			v.typeKeys("15GSmine<Esc>:write<CR>")
			v.waitLua("not vim.bo.modified")
			v.typeKeys(":CodexRestore<CR>")
			v.waitLua("noted('A turn is running')")
			close(until)
			v.waitTurns()
			v.waitLua("#seen('CodexChanges') == 1")
			chat := v.chatText()
			v.checkContains(chat, "\n### 4 files changed\n\nA made.txt  +1 -0\n")
			if strings.Contains(chat, "1 file changed") {
				t.Errorf("the live changes are still in\n%s", chat)
			}
			v.typeKeys(":CodexChanges<CR>")
			v.waitLua("changes_text():find('A made.txt  +1 -0', 1, true)")
			v.recordScreen("changes")
			v.checkContains(v.text("return changes_text()"), "D old.txt  +0 -1", "M poem.txt  +2 -2  you saved this file during the turn\n  @@ -5,1 +5,1 @@\n  -line 5\n  +five\n  @@ -25,1 +25,1 @@", "M second.txt  +1 -1")

			// One hunk is undone, one file kept; both leave the list.
			v.lua("at_change(...)", "@@ -25,1 +25,1 @@")
			v.typeKeys("gr")
			v.waitLua("noted('Undone: poem.txt') and not changes_text():find('twenty-five', 1, true)")
			if got := w.get("poem.txt"); got != numbered(40, map[int]string{5: "five\n", 15: "mine\n"}) {
				t.Errorf("after the undo of a hunk: %q", got)
			}
			v.lua("at_change(...)", "A made.txt")
			v.typeKeys("ga")
			v.waitLua("not changes_text():find('made.txt', 1, true)")
			if got := w.get("made.txt"); got != "made\n" {
				t.Errorf("the kept file is %q", got)
			}

			// The user edits after the turn, once beside and once in a change of Codex.
			w.put("second.txt", strings.Replace(w.get("second.txt"), "nine\n", "my nine\n", 1))
			w.put("own.txt", "mine\n")
			before := w.tree()
			v.lua(`choose = { "change it" }`)
			v.typeKeys(":CodexRestore<CR>")
			v.waitLua("changes_text('restore'):find('second.txt  conflict', 1, true)")
			v.recordScreen("preview")
			v.checkContains(v.text("return changes_text('restore')"), "made.txt  restored", "old.txt  restored", "poem.txt  restored", "second.txt  conflict: not restored: your later edits touch the same lines")
			if diff := strings.Compare(fmt.Sprint(w.tree()), fmt.Sprint(before)); diff != 0 {
				t.Error("the preview changed files")
			}
			v.typeKeys("ga")
			v.waitLua("noted('Restored: 3; not restored: 1.')")
			for name, want := range map[string]string{"poem.txt": numbered(40, map[int]string{15: "mine\n"}), "old.txt": "old\n", "made.txt": "no file", "own.txt": "mine\n", "second.txt": numbered(40, map[int]string{9: "my nine\n"})} {
				if got := w.get(name); got != want {
					t.Errorf("after the restore, %s is %q", name, got)
				}
			}
			v.waitLua("changes_text() == 'M second.txt  +1 -1\\n  @@ -9,1 +9,1 @@\\n  -line 9\\n  +nine'") // the conflict
			v.typeKeys(":CodexUnrestore<CR>")
			v.waitLua("changes_text('restore'):find('Undo the restore', 1, true)")
			v.typeKeys("ga")
			v.waitLua("noted('Restored: 3; not restored: 0.')")
			w.checkTree(before)
			v.waitLua("changes_text():find('A made.txt', 1, true) and changes_text():find('M poem.txt', 1, true)")
		})
	}
}

// While a turn runs, its changed files grow in the chat. Afterwards the chat has its files and hunks, with the keys of the
// list of changes; a key on a change answers no approval.
func TestNeovimChangesInChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.put("poem.txt", numbered(40, nil))
	w.put("old.txt", "old\n")
	patch := func(text string) scripted.Reply {
		return scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n" + text + "*** End Patch\n"}}
	}
	until := make(chan struct{})
	w.model.Add(
		scripted.Step{When: "change it", Reply: patch("*** Update File: poem.txt\n@@\n line 4\n-line 5\n+five\n line 6\n@@\n line 24\n-line 25\n+--- a/twenty-five\n line 26\n")},
		scripted.Step{When: "Success", Reply: append(patch("*** Add File: sub/made.txt\n+one\n+two\n*** Delete File: old.txt\n"), scripted.Paused{Until: until})},
	)
	v := w.neovim("{ thread = { approvalPolicy = 'on-request', sandbox = 'workspace-write' } }")
	v.lua(laterPicker + changesLua)
	v.startText("change it")
	v.waitLua("chat():find('### 1 file changed\\n\\nM poem.txt  +2 -2\\n', 1, true)")
	v.waitScreen("until now")
	close(until)
	v.waitTurns()
	v.waitLua("#seen('CodexChanges') == 1")
	v.checkContains(v.chatText(), "### 3 files changed\n\nD old.txt  +0 -1\n  @@ -1,1 +1,0 @@\n  -old\nM poem.txt  +2 -2\n  @@ -5,1 +5,1 @@\n  -line 5\n  +five\n  @@ -25,1 +25,1 @@\n  -line 25\n  +--- a/twenty-five\nA sub/made.txt  +2 -0\n  @@")
	v.waitScreen("▸ M poem.txt  +2 -2", "ga keep · gr undo")
	v.recordScreen("in the chat")

	// A closed fold is the whole file; inside of an open one the keys are about a hunk. The fold stays open.
	at := func(text string) {
		v.lua(`vim.api.nvim_set_current_win(vim.fn.bufwinid("codex://chat")) assert(vim.fn.search("\\V\\^" .. ..., "w") > 0)`, text)
	}
	at("A sub/made.txt  +2")
	v.typeKeys("gr")
	v.waitLua("noted('Undone: sub/made.txt')")
	if _, err := os.Stat(w.path("sub")); err == nil {
		t.Error("the folder of an undone file is still there")
	}
	at("M poem.txt  +2")
	v.typeKeys("<CR>")
	v.waitLua("vim.fn.foldclosed('.') == -1")
	at("  -line 25")
	v.typeKeys("gd")
	v.waitScreen("after the undo", "poem.txt (now)")
	v.typeKeys(":tabclose<CR>")
	at("  -line 25")
	v.typeKeys("gr")
	v.waitLua("noted('Undone: poem.txt') and not chat():find('  -line 25', 1, true)")
	if got := w.get("poem.txt"); got != numbered(40, map[int]string{5: "five\n"}) {
		t.Errorf("after the undo of a hunk: %q", got)
	}
	at("  -line 5")
	v.waitLua("vim.fn.foldclosed('.') == -1")

	// While a card is on the screen, its keys don't answer it from a line of a change.
	v.startText("ESCALATE: touch escalated")
	v.waitScreen("Leaves the sandbox", "ga  Accept once")
	at("  -line 5")
	v.typeKeys("gr")
	v.waitLua("noted('A turn is running')")
	v.typeKeys("ga")
	v.waitLua("not chat():find('M poem.txt  +', 1, true) and require('codex-bridge').about().pending_requests == 1")
	v.typeKeys("Gga")
	v.waitTurns()
	v.waitLua("#seen('CodexChanges') == 2")
	v.checkContains(v.chatText(), "### 1 file changed\n\nA escalated")
	at("D old.txt  +0") // an older turn: :CodexRestore goes back to before it
	v.typeKeys("gr")
	v.waitLua("noted('There is no change on this line.')")
	at("A escalated  +")
	v.typeKeys("gr")
	v.waitLua("noted('Undone: escalated')")
	if w.workspaceHasFile("escalated") || w.workspaceHasFile("old.txt") {
		t.Error("another file changed")
	}
	v.waitLua("chat():find('### 1 file changed\\n\\nundone', 1, true)")
}

// Each chat has its own list of changes. A turn of one stops the undo of the other.
func TestNeovimChangesOfChats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{ thread = { approvalPolicy = 'never', sandbox = 'danger-full-access' } }")
	v.lua(laterPicker + changesLua)
	v.runText("PATCH: one.txt\none")
	v.waitLua("#seen('CodexChanges') == 1")
	v.typeKeys(":CodexChat<CR>")
	v.waitLua("vim.fn.bufwinid('codex://chat/2') > 0")
	v.typeKeys(":CodexChanges<CR>")
	v.waitLua("noted('There is no thread yet; send a message first.')")
	v.runText("PATCH: two.txt\ntwo")
	v.waitLua("#seen('CodexChanges') == 2")
	v.typeKeys(":CodexChanges<CR>")
	v.waitLua("changes_text():find('A two.txt', 1, true)")
	if got := v.text("return changes_text()"); strings.Contains(got, "one.txt") {
		t.Errorf("the list has the other chat's changes: %s", got)
	}
	v.lua("at_change('A two.txt')")
	v.typeKeys("gr")
	v.waitLua("noted('Undone: two.txt')")
	if got := w.get("one.txt") + w.get("two.txt"); got != "one\nno file" {
		t.Errorf("the files are %q", got)
	}
}

// An editor that is killed during a turn leaves a snapshot before it. The next one ends the turn, and can undo its
// changes. An editor that still runs keeps its turn.
func TestNeovimChangesOfKilledEditor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.put("old.txt", "old\n")
	const setup = "{ thread = { approvalPolicy = 'never', sandbox = 'danger-full-access' } }"
	a := w.neovim(setup)
	a.startText("RUN: echo new > old.txt; until [ -e go ]; do sleep .1; done; touch late; sleep 600")
	a.waitLua("vim.fn.readfile('old.txt')[1] == 'new'")
	thread := a.text(`return require("codex-bridge").about().thread.id`)
	pid, err := strconv.Atoi(a.text("return tostring(vim.fn.getpid())"))
	if err != nil {
		t.Fatal(err)
	}
	other := w.neovim(setup)
	other.runText("SAY: hello") // the first snapshot comes before
	w.put("go", "")
	a.waitLua("vim.uv.fs_stat('late') ~= nil")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.Close()
	v := w.neovim(setup)
	v.lua(changesLua)
	v.lua(`require("codex-bridge").resume(...)`, thread)
	v.waitScreen("echo new")
	v.typeKeys(":CodexChanges<CR>")
	v.waitLua("changes_text():find('The editor closed during this turn', 1, true) and changes_text():find('A late', 1, true)")
	v.lua("at_change('M old.txt')")
	v.typeKeys("gr")
	v.waitLua("vim.fn.readfile('old.txt')[1] == 'old'")
}

// Without git, or without checkpoints, the turn runs; the chat gives the reason once.
func TestNeovimChangesWithoutGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{ thread = { approvalPolicy = 'never', sandbox = 'danger-full-access' } }")
	v.lua(laterPicker + `
vim.env.PATH = "/nonexistent"`)
	for _, name := range []string{"one", "two"} {
		v.runText("PATCH: " + name + "\ntext")
	}
	if got := strings.Count(v.chatText(), "> No restore point: there is no git program on PATH\n"); got != 1 {
		t.Errorf("the reason is there %d times in\n%s", got, v.chatText())
	}
	v.typeKeys(":CodexRestore<CR>")
	v.waitLua("noted('Nothing is restored: there is no git program on PATH')")
	if _, err := os.Stat(w.path("two")); err != nil {
		t.Error(err)
	}
}

// A slow snapshot holds no message back. The next turn has a restore point again.
func TestNeovimChangesTooSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	v := w.neovim("{ thread = { approvalPolicy = 'never', sandbox = 'danger-full-access' } }")
	v.lua(`require("codex-bridge.changes").limit_ms = 0`)
	v.runText("PATCH: one\ntext")
	v.checkContains(v.chatText(), "> No restore point: the snapshot took longer than 0 s\n")
	v.lua(`require("codex-bridge.changes").limit_ms = 60000`)
	v.runText("PATCH: two\ntext")
	v.waitLua("chat():find('### 1 file changed', 1, true)")
	if got := w.get("one") + w.get("two"); got != "text\ntext\n" {
		t.Errorf("the files are %q", got)
	}
}
