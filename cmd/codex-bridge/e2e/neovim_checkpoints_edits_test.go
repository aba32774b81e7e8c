//go:build linux

package e2e_test

import (
	"math/rand"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Edits of the user outside of the changed lines stay; an edit of the same lines is a conflict, and nothing is written.
func TestNeovimCheckpointEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	codex := map[int]string{10: "ten\n", 30: "thirty\n"}
	w.put("both", numbered(40, nil))
	w.put("conflict", numbered(40, nil))
	w.put("gone", "x\n")
	w.put("untouched", "x\n")
	c.turn(func() {
		w.put("both", numbered(40, codex))
		w.put("conflict", numbered(40, codex))
		w.put("new", "new\n")
		w.must(os.Remove(w.path("gone")))
	})
	w.put("both", numbered(40, map[int]string{2: "mine before\n", 10: "ten\n", 20: "mine between\n", 30: "thirty\n", 38: "mine after\n"}))
	mine := numbered(40, map[int]string{10: "mine inside\n", 30: "thirty\n"})
	w.put("conflict", mine)
	w.put("new", "new\nmine\n")
	w.put("gone", "mine again\n")
	w.put("untouched", "mine\n")
	c.checkLua(`["both 2","conflict 2","gone 1","new 1"]`, "listed()")

	// One hunk, then the other.
	c.checkLua(`"merged"`, "undo('both', 1)")
	if got, want := w.get("both"), numbered(40, map[int]string{2: "mine before\n", 20: "mine between\n", 30: "thirty\n", 38: "mine after\n"}); got != want {
		t.Errorf("%q", got)
	}
	c.checkLua(`"conflict: your later edits touch the same lines"`, "undo('conflict', 1)")
	if got := w.get("conflict"); got != mine {
		t.Errorf("the conflict is written: %q", got)
	}
	c.checkLua(`"merged"`, "undo('conflict', 2)")
	before := w.tree()
	c.checkLua(`{"both":"merged","conflict":"conflict: your later edits touch the same lines","gone":"conflict: your later edits touch the same lines","new":"conflict: your later edits touch the same lines"}`, "restore(1)")
	if got, want := w.get("both"), numbered(40, map[int]string{2: "mine before\n", 20: "mine between\n", 38: "mine after\n"}); got != want {
		t.Errorf("%q", got)
	}
	after := w.tree()
	delete(before, "both")
	delete(after, "both")
	for name, want := range before {
		if after[name] != want {
			t.Errorf("%s is %q", name, after[name])
		}
	}
	// An edit after the restore stays when the restore is undone.
	w.put("both", strings.Replace(w.get("both"), "line 5\n", "mine later\n", 1))
	c.checkLua(`{"both":"merged"}`, "unrestore()")
	if got, want := w.get("both"), numbered(40, map[int]string{2: "mine before\n", 5: "mine later\n", 20: "mine between\n", 30: "thirty\n", 38: "mine after\n"}); got != want {
		t.Errorf("%q", got)
	}
}

// Unsaved edits are merged in their buffers, which stay unsaved, and the editor's own undo takes the undo back.
func TestNeovimCheckpointBuffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	names := []string{"saved", "unsaved", "conflict", "created", "deleted"}
	for _, name := range names[:3] {
		w.put(name, numbered(20, nil))
	}
	w.put("deleted", "x\n")
	changed := numbered(20, map[int]string{10: "ten\n"})
	c.turn(func() {
		for _, name := range names[:4] {
			w.put(name, changed)
		}
		w.must(os.Remove(w.path("deleted")))
	})
	c.lua(`for _, name in ipairs({ "saved", "unsaved", "conflict", "created" }) do vim.cmd.edit({ name, bang = true }) end
vim.o.hidden = true
function buf(name) return vim.fn.bufnr("^" .. vim.fn.getcwd() .. "/" .. name .. "$") end
function text(name) return table.concat(vim.api.nvim_buf_get_lines(buf(name), 0, -1, true), "\n") .. "\n" end
vim.api.nvim_buf_set_lines(buf("unsaved"), 0, 1, true, { "mine", "unsaved" })
vim.api.nvim_buf_set_lines(buf("conflict"), 9, 10, true, { "mine" })
vim.api.nvim_buf_set_lines(buf("created"), 0, 0, true, { "mine" })`)
	c.checkLua(`{"conflict":"conflict: your later edits touch the same lines","created":"conflict: your later edits touch the same lines","deleted":"restored","saved":"restored","unsaved":"merged"}`, "restore(1)")
	unsaved := numbered(20, map[int]string{1: "mine\nunsaved\n"})
	for name, want := range map[string]string{"saved": numbered(20, nil), "unsaved": unsaved, "conflict": numbered(20, map[int]string{10: "mine\n"}), "created": "mine\n" + changed} {
		if got := c.text("return text(...)", name); got != want {
			t.Errorf("the buffer of %s is %q", name, got)
		}
	}
	for name, want := range map[string]string{"saved": numbered(20, nil), "unsaved": changed, "conflict": changed, "created": changed, "deleted": "x\n"} {
		if got := w.get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	c.checkLua(`[false,true,true]`, `{ vim.bo[buf("saved")].modified, vim.bo[buf("unsaved")].modified, vim.bo[buf("conflict")].modified }`)
	c.lua(`vim.api.nvim_buf_call(buf("saved"), function() vim.cmd("silent undo") end)`)
	if got := c.text(`return text("saved")`); got != changed {
		t.Errorf("after undo, the buffer is %q", got)
	}
	c.lua(`vim.api.nvim_buf_call(buf("saved"), function() vim.cmd("silent edit!") end)`)
	c.checkLua(`{"deleted":"restored","saved":"restored","unsaved":"restored"}`, "unrestore()")
	if got := c.text(`return text("unsaved")`); got != numbered(20, map[int]string{1: "mine\nunsaved\n", 10: "ten\n"}) {
		t.Errorf("the unsaved buffer is %q", got)
	}
	if got := w.get("saved") + w.get("deleted"); got != changed+"no file" {
		t.Errorf("the files are %q", got)
	}
}

// Several turns are restored at once, with files that the user saves during a turn.
func TestNeovimCheckpointTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	w.put("a", numbered(30, nil))
	w.put("b", numbered(30, nil))
	w.put("saved", numbered(30, nil))
	w.put("mine", "mine\n")
	c.turn(func() { w.put("a", numbered(30, map[int]string{5: "five\n"})) })
	c.turn(func() {
		w.put("a", numbered(30, map[int]string{5: "FIVE\n", 15: "fifteen\n"}))
		w.put("b", numbered(30, map[int]string{5: "five\n"}))
	})
	w.put("a", numbered(30, map[int]string{5: "FIVE\n", 15: "fifteen\n", 25: "mine\n"}))
	c.turn(func() {
		w.put("new", "new\n")
		w.put("saved", numbered(30, map[int]string{5: "five\n"}))
		c.lua(`vim.cmd("edit! saved | 20 | s/.*/mine/ | silent write | edit! mine | s/.*/changed/ | silent write | enew")`)
		w.put("b", numbered(30, map[int]string{5: "five\n", 15: "fifteen\n"}))
	})
	c.checkLua(`["b 1","new 1","saved saved 1"]`, "listed()")
	c.checkLua(`"A turn is running: wait for its end, or stop it."`, `(function() begin("t9") local busy = restore(1) finish("t9") return busy end)()`)
	c.checkLua(`{"b":"restored","new":"restored","saved":"restored"}`, "restore(3)")
	if got := w.get("b"); got != numbered(30, map[int]string{5: "five\n"}) {
		t.Errorf("b is %q", got)
	}
	c.checkLua(`{"a":"merged","b":"restored","new":"same","saved":"same"}`, "restore(1)")
	if got := w.get("a"); got != numbered(30, map[int]string{25: "mine\n"}) {
		t.Errorf("a is %q", got)
	}
	if got := w.get("saved"); got != numbered(30, map[int]string{20: "mine\n"}) {
		t.Errorf("saved is %q", got)
	}
	if got := w.get("b") + w.get("new") + w.get("mine"); got != numbered(30, nil)+"no filechanged\n" {
		t.Errorf("the files are %q", got)
	}
}

// Nothing outside of the workspace changes, and a file on the disk is not deleted for its buffer.
func TestNeovimCheckpointHostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	for _, name := range []string{"outside/gone", "outside/changed", "outside/created", "outside/file"} {
		w.write(name, "outside\n")
	}
	w.put("folder/gone", "x\n")
	w.put("folder/changed", "x\n")
	w.put("link", "x\n")
	w.put("pipe", "x\n")
	w.put("large", "x\n")
	c.lua(`require("codex-bridge.checkpoint.file").MAX_SIZE = 1000`)
	c.turn(func() {
		w.must(os.Remove(w.path("folder/gone")))
		w.put("folder/changed", "codex\n")
		w.put("folder/created", "outside\n")
		w.put("link", "codex\n")
		w.put("pipe", "codex\n")
		w.put("large", strings.Repeat("x", 2000))
		w.put("buffer", "codex\n")
	})
	c.checkLua(`["large"]`, "current().uncovered")
	// The folder is a link now, with the same files; so is a file. A buffer has the file in it, modified.
	w.must(os.Rename(w.path("folder"), w.path("moved")))
	w.must(os.Symlink("../outside", w.path("folder")))
	w.write("outside/changed", "codex\n")
	w.must(os.Remove(w.path("link")))
	w.must(os.Symlink("../outside/file", w.path("link")))
	w.must(os.Remove(w.path("pipe")))
	w.must(syscall.Mkfifo(w.path("pipe"), 0o600))
	c.lua(`vim.o.hidden = true
for _, name in ipairs({ "folder/created", "buffer" }) do
  vim.cmd.edit(name)
  vim.api.nvim_buf_set_lines(0, 0, 0, true, { "mine" })
  vim.api.nvim_buf_set_lines(0, 0, 1, true, {}) -- modified, with the text of the turn
end`)
	w.put("buffer", "saved by another program\n")
	before := w.tree()
	got := decode[map[string]string](t, c.lua("return restore(1)"))
	if got["folder/created"] != "same" { // it is not in the workspace any more
		t.Errorf("folder/created is %q", got["folder/created"])
	}
	for _, name := range []string{"folder/gone", "folder/changed", "link", "pipe", "buffer"} {
		if verdict, _, _ := strings.Cut(got[name], ":"); verdict != "refused" && verdict != "conflict" {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	w.checkTree(before)
	for name, want := range map[string]string{"gone": "outside\n", "changed": "codex\n", "created": "outside\n", "file": "outside\n"} {
		if raw, err := os.ReadFile(w.path("../outside/" + name)); string(raw) != want {
			t.Errorf("outside, %s is %q, %v", name, raw, err)
		}
	}
	for path, want := range map[string]bool{"a": true, "a/.git2": true, "": false, "/a": false, "a//b": false, "../a": false, "a/..": false, ".git/config": false, "a/.GIT/hooks/x": false} {
		if got := c.lua(`return require("codex-bridge.checkpoint.file").is_valid(...)`, path) == "true"; got != want {
			t.Errorf("%q is valid: %v", path, got)
		}
	}
}

// Random edits of Codex and the user on different lines: an undo of hunks and a restore lose no edit of the user, and
// without one the files are as before, byte by byte.
func TestNeovimCheckpointRandom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	undos := 0
	for seed := range 12 {
		if !isSampled(3, seed, 0) {
			continue
		}
		random := rand.New(rand.NewSource(int64(seed)))
		ending := []string{"\n", "\r\n"}[random.Intn(2)]
		const count, groups = 60, 12
		original, changed, edited, undone := map[int]string{}, map[int]string{}, map[int]string{}, map[int]string{}
		for i := 1; i <= count; i++ {
			original[i] = strings.Repeat("x", random.Intn(3)) + ending
		}
		edit := func(who string) string {
			return strings.Repeat(who+strings.Repeat("y", random.Intn(3))+ending, random.Intn(3))
		}
		with := func(all ...map[int]string) string {
			lines := map[int]string{}
			for _, each := range append([]map[int]string{original}, all...) {
				for i, text := range each {
					lines[i] = text
				}
			}
			return numbered(count, lines)
		}
		// Each group of lines is changed by one of both, in its middle.
		for group := range groups {
			line := group*count/groups + 3
			original[line-1], original[line+1] = "start "+string(rune('a'+group))+ending, "end "+string(rune('a'+group))+ending
			if random.Intn(2) == 0 {
				changed[line] = edit("codex")
			} else {
				edited[line] = edit("user")
			}
		}
		if len(changed) == 0 {
			changed[3] = "codex" + ending
			delete(edited, 3)
		}
		w.put("file", with())
		before := w.tree()
		c.turn(func() { w.put("file", with(changed)) })
		c.lua("return restore(...)", c.turns)
		w.checkTree(before)
		c.lua("unrestore()")
		unsaved := random.Intn(2) == 0
		if unsaved {
			w.put("user", with(changed, edited))
			c.lua(`vim.cmd("silent! %bwipeout! | edit ++ff=" .. ... .. " file | silent %delete _ | silent 0read ++ff=" .. ... .. " user | $delete _")`, map[string]string{"\n": "unix", "\r\n": "dos"}[ending])
			w.must(os.Remove(w.path("user")))
		} else {
			w.put("file", with(changed, edited))
		}
		content := func() string {
			if unsaved {
				return c.text(`return require("codex-bridge.checkpoint.buffer").bytes(vim.fn.bufnr("^" .. vim.fn.getcwd() .. "/file$"))`)
			}
			return w.get("file")
		}
		if got := content(); got != with(changed, edited) {
			t.Fatalf("seed %d: the test is wrong: %q", seed, got)
		}
		// Some hunks, in any order.
		hunks := decode[[]struct{ After, Added, Before, Removed int }](t, c.lua("return current().files[1].hunks"))
		lines := slices.Sorted(func(yield func(int) bool) {
			for line := range changed {
				if changed[line] != original[line] && !yield(line) {
					return
				}
			}
		})
		if len(hunks) == len(lines) {
			for _, i := range random.Perm(len(hunks))[:random.Intn(len(hunks)+1)] {
				if got := c.text("return undo('file', ...)", i+1); got != "merged" && got != "restored" {
					t.Errorf("seed %d: hunk %d of %d: %s", seed, i+1, len(hunks), got)
				}
				undos++
				undone[lines[i]] = original[lines[i]]
				if got, want := content(), with(changed, edited, undone); got != want {
					t.Fatalf("seed %d: hunk %d gives %q, not %q", seed, i+1, got, want)
				}
			}
		}
		c.lua("return restore(...)", c.turns)
		if got, want := content(), with(edited); got != want {
			t.Fatalf("seed %d: the restore gives %q, not %q", seed, got, want)
		}
		c.lua("unrestore()")
		if got, want := content(), with(changed, edited, undone); got != want {
			t.Fatalf("seed %d: the undone restore gives %q, not %q", seed, got, want)
		}
		c.lua(`vim.cmd("silent! %bwipeout!")`)
	}
	if undos < 5 {
		t.Errorf("only %d undos of hunks", undos)
	}
}
