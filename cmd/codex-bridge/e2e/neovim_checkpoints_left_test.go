//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The permissions of deleted files come back with them, whatever the umask of the editor that restores them.
func TestNeovimRestoredPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	modes := map[string]os.FileMode{"plain": 0o664, "also plain": 0o664, "secret": 0o600, "read-only": 0o444, "tool": 0o775, "own tool": 0o700, "sub/secret": 0o640}
	for name, mode := range modes {
		w.put(name, name+"\n")
		w.must(os.Chmod(w.path(name), mode))
	}
	c := w.checkpoints()
	check := func(when string) {
		t.Helper()
		for name, want := range modes {
			if info, err := os.Stat(w.path(name)); err != nil || info.Mode() != want {
				t.Errorf("%s, %s: %v %v, not %v", when, name, info, err, want)
			}
		}
	}
	remove := func() {
		for name := range modes {
			w.must(os.Remove(w.path(name)))
		}
	}
	c.turn(func() {
		remove()
		w.put("new", "new\n")
		w.must(os.Chmod(w.path("new"), 0o640))
	})
	for _, name := range []string{"secret", "tool"} { // by file
		c.checkLua(`"restored"`, "undo(...)", name)
	}
	c.lua("return restore(1)")
	check("after the restore")
	c.lua("return unrestore()")
	if info, err := os.Stat(w.path("new")); err != nil || info.Mode() != 0o640 {
		t.Errorf("the undone restore: %v %v", info, err)
	}
	other := w.checkpoints()
	other.lua("vim.uv.fs_unlink('secret') vim.uv.fs_unlink('tool')") // those that were undone by file
	other.lua("return restore(1)")
	check("after the restore of another editor")
}

// An editor is killed during a restore, and the user edits files before the next one starts. It names the files, and
// finishes the restore or takes it back; no edit of the user is lost.
func TestNeovimKilledDuringRestore(t *testing.T) {
	t.Parallel()
	for _, finish := range []bool{true, false} {
		t.Run(fmt.Sprintf("finish=%v", finish), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			changed := map[int]string{10: "ten\n"}
			for _, name := range []string{"a", "b", "c"} {
				w.put(name, numbered(40, nil))
			}
			w.put("gone", "secret\n")
			c := w.checkpoints()
			c.turn(func() {
				for _, name := range []string{"a", "b", "c"} {
					w.put(name, numbered(40, changed))
				}
				w.must(os.Remove(w.path("gone")))
				w.put("made", "made\n")
			})
			// The write of the third file ends with the editor.
			c.lua(`local file, owner = require("codex-bridge.checkpoint.file"), require("codex-bridge.checkpoint.owner")
local write, count = file.write, 0
file.write = function(...)
  count = count + 1
  if count == 3 then
    vim.fn.writefile({ "half" }, owner.prefix(owner.id()) .. "0123456789ab")
    vim.uv.kill(vim.uv.os_getpid(), "sigkill")
  end
  return write(...)
end
vim.defer_fn(function() restore(1) end, 0)`)
			if err := c.Await(c.ctx, "false"); err == nil {
				t.Fatal("the editor runs")
			}
			c.Close()
			if got := w.get("made") + w.get("a") + w.get("b") + w.get("gone"); got != "no file"+numbered(40, nil)+numbered(40, changed)+"no file" {
				t.Fatalf("the files of the killed editor are %q", got)
			}
			with := func(lines map[int]string, mine ...int) string {
				all := map[int]string{}
				for i, text := range lines {
					all[i] = text
				}
				for _, i := range mine {
					all[i] = "mine\n"
				}
				return numbered(40, all)
			}
			w.put("a", with(nil, 30))
			w.put("b", with(changed, 30))
			w.put("other", "mine\n")

			v := w.checkpoints()
			v.lua(laterPicker + changesLua)
			v.typeKeys(":Codex<CR>")
			v.waitLua("chat():find('closed while it restored files', 1, true)")
			v.checkContains(v.chatText(), "> Neovim was closed while it restored files. Restored: made. Not restored, or edited since: a, b, c, gone. :CodexUnrestore finishes this or takes it back.")
			if left, err := filepath.Glob(w.path(".codex-bridge-*")); err != nil || len(left) > 0 {
				t.Errorf("temporary files: %v %v", left, err)
			}
			choice, title := "Take it back", "Undo the restore of"
			if finish {
				choice, title = "Finish it", "Finish the restore of"
			}
			v.lua("choose = { ... }", choice)
			v.typeKeys(":CodexUnrestore<CR>")
			v.waitLua(fmt.Sprintf("changes_text('restore'):find(%q, 1, true)", title))
			v.typeKeys("ga")
			v.waitLua("noted('not restored: 0.')")
			want := map[string]string{"a": with(changed, 30), "b": with(changed, 30), "c": numbered(40, changed), "gone": "no file", "made": "made\n"}
			restored := map[string]string{"a": with(nil, 30), "b": with(nil, 30), "c": numbered(40, nil), "gone": "secret\n", "made": "no file"}
			check := func(want map[string]string) {
				t.Helper()
				for name, text := range want {
					if got := w.get(name); got != text {
						t.Errorf("%s is %q, not %q", name, got, text)
					}
				}
				if got := w.get("other"); got != "mine\n" {
					t.Errorf("another file is %q", got)
				}
			}
			if finish {
				check(restored)
				if info, err := os.Stat(w.path("gone")); err != nil || info.Mode() != 0o600 {
					t.Errorf("the permissions: %v %v", info, err)
				}
				for range 2 { // the second part, then the first one
					v.lua("return unrestore()")
				}
			}
			check(want)
			v.checkLua(`"nothing"`, "unrestore()")
			v.checkLua("0", `work(function(store) return #turns.interrupted(store) end)`)
		})
	}
}

// The user can leave the files of an interrupted restore as they are. A restore that another editor writes now is neither
// interrupted nor the last one.
func TestNeovimInterruptedRestoreIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.put("a", "old\n")
	c := w.checkpoints()
	c.turn(func() { w.put("a", "new\n") })
	c.lua(`require("codex-bridge.checkpoint.file").write = function() error({ text = "kept" }, 0) end
stores.open(thread.cwd).delete_refs = function() end -- as if the editor were killed here
return restore(1)`)
	other := w.checkpoints()
	other.lua(laterPicker)
	other.checkLua(`"nothing"`, "unrestore()")
	c.lua("vim.schedule(function() vim.cmd('qall!') end)")
	if err := c.Await(c.ctx, "false"); err == nil {
		t.Fatal("the editor runs")
	}
	other.lua("choose = { 'Leave the files' }")
	other.typeKeys(":CodexUnrestore<CR>")
	other.waitLua("noted('The files stay as they are.')")
	if got := w.get("a"); got != "new\n" {
		t.Errorf("the file is %q", got)
	}
	other.checkLua("0", `work(function(store) return #turns.interrupted(store) end)`)
}

// Another editor that creates one of the folders at the same time makes Neovim's mkdir fail, and costs no restore point.
func TestNeovimFolderOfTwoEditors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	c.lua(`local mkdir = vim.fn.mkdir
vim.fn.mkdir = function(path, ...)
  vim.fn.mkdir = mkdir
  mkdir(vim.fs.dirname(path), "p")
  error("Vim:E739: Cannot create directory " .. vim.fs.dirname(path) .. ": file already exists")
end
made = vim.fn.tempname() .. "/one/two"
require("codex-bridge.folder").create(made, tonumber("700", 8))`)
	c.checkLua("1", "vim.fn.isdirectory(made)")
}

// Two editors use a store at once, from its creation: each snapshot has the files of its time, while both also delete old
// objects.
func TestNeovimStoreOfTwoEditors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const rounds = 6
	names := []string{"one", "two"}
	for _, name := range names {
		w.put(name, "0\n")
	}
	var editors []*inCheckpoints
	for range names {
		editors = append(editors, w.checkpoints())
	}
	for i, c := range editors {
		c.lua(`local name, rounds = ...
thread.id = name
vim.defer_fn(function()
  for i = 1, rounds do
    begin("t" .. i)
    vim.fn.writefile({ tostring(i) }, name)
    finish("t" .. i)
    work(function(store)
      vim.uv.fs_utime(store.dir .. "/cleaned", 0, 0)
      store:clean()
    end)
  end
  all_done = true
end, 0)`, names[i], rounds)
	}
	for _, c := range editors {
		c.waitLua("all_done or #notices > 0")
		c.checkLua("[]", "notices")
	}
	// A gc may delete the folder of a new object just before git writes it.
	editors[0].lua(`work(function(store)
  local program, script, ran = store.git.program, vim.fn.tempname(), vim.fn.tempname()
  vim.fn.writefile({
    "#!/bin/sh", "if mkdir " .. ran .. "; then echo 'error: unable to create temporary file: No such file or directory' >&2; exit 128; fi",
    "exec " .. program .. ' "$@"',
  }, script)
  vim.fn.setfperm(script, "rwx------")
  store.git.program = script
  store:put("text")
  store.git.program = program
end)`)
	for i, c := range editors {
		c.checkLua(fmt.Sprint(rounds), fmt.Sprintf(`work(function(store)
  local list = store:list("refs/turns/" .. thread.id)
  for i, record in ipairs(list) do
    local mine = vim.tbl_filter(function(f) return f.path == %q end, turns.files(store, record).files)[1]
    assert(mine.before.data == (i - 1) .. "\n" and mine.after.data == i .. "\n", i)
  end
  return #list
end)`, names[i]))
		w.put(names[i], fmt.Sprintln(rounds)) // the other one may have restored it
		c.lua("return restore(1)")
		c.waitLua("not stores.open(thread.cwd).is_collecting")
		if got := w.get(names[i]); got != "0\n" {
			t.Errorf("%s is %q after the restore", names[i], got)
		}
	}
}

// A snapshot that takes longer than the limit is not used, even when it is complete later: the turn has begun by then.
func TestNeovimSnapshotAfterLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.put("file", "old\n")
	c := w.checkpoints()
	c.lua(`local store, defer = stores.open(thread.cwd), vim.defer_fn
vim.defer_fn = function(f, ms)
  if ms ~= changes.limit_ms then return defer(f, ms) end
  pass_limit = f
  return { is_closing = function() return true end }
end
store.snapshot = function(self, message)
  local co = coroutine.running()
  continue = function() assert(coroutine.resume(co)) end
  store.snapshot = nil
  vim.schedule(pass_limit)
  coroutine.yield()
  return self:snapshot(message)
end
begin("late")`)
	const notices = `["No restore point: the snapshot took longer than 10 s"]`
	c.checkLua(notices, "notices")
	w.put("file", "first turn\n")
	c.lua(`continue()
work(function() end) -- the snapshot is complete
changes.completed(thread.id, "late")`)
	w.put("file", "mine\n")
	c.turn(func() { w.put("file", "second turn\n") })
	c.checkLua("1", `#select(2, await(function(done) changes.restore_points(thread, done) end))`)
	c.checkLua(notices, "notices")
	c.checkLua(`{"file":"restored"}`, "restore(1)")
	if got := w.get("file"); got != "mine\n" {
		t.Errorf("the file is %q", got)
	}
}

// Many editors and killed programs leave files in the store. They displace no snapshot, and stop no later work.
func TestNeovimStoreAfterMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.put("file", "x\n")
	c := w.checkpoints()
	c.turn(func() { w.put("file", "new\n") })
	c.lua(`work(function(store)
  local commit = vim.trim(store.git:run({ "rev-parse", "refs/turns/thread/t1/after" }))
  local lines = {}
  for i = 1, 300 do lines[i] = ("create refs/index/9-%d %s\n"):format(i, commit) end
  store.git:run({ "update-ref", "--stdin" }, table.concat(lines))
  store:clean()
end)`)
	c.checkLua(`{"file":"restored"}`, "restore(1)")
	dir := c.text("return stores.open(thread.cwd).dir")
	old := `local path, age = ... vim.fn.writefile({}, path) vim.uv.fs_utime(path, os.time() - age, os.time() - age)`
	c.lua(old, dir+"/packed-refs.lock", 7200)
	c.lua(old, dir+"/merge.9-1", 2*86400)
	v := w.checkpoints()
	v.lua("work(function(store) store:clean() end)")
	for _, name := range []string{"packed-refs.lock", "merge.9-1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	v.checkLua(`{"file":"restored"}`, "unrestore()")

	// A store whose creation was stopped is created again.
	w.must(os.RemoveAll(dir))
	w.must(os.MkdirAll(filepath.Join(dir, "info"), 0o700))
	v = w.checkpoints()
	v.turn(func() { w.put("file", "again\n") })
	v.checkLua(`["file 1"]`, "listed()")
	left, err := filepath.Glob(strings.TrimSuffix(dir, ".git") + ".git.*")
	if err != nil || len(left) > 0 {
		t.Errorf("left beside the store: %v %v", left, err)
	}
}
