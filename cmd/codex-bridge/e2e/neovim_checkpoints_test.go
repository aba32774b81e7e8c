//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Changes of every kind are undone by file and by a restore, exactly; a restore is undone.
func TestNeovimUndoOfEveryKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	remove := func(name string) { t.Helper(); w.must(os.RemoveAll(w.path(name))) }
	w.put("text", "one\ntwo\n")
	w.put("noend", "one\ntwo")
	w.put("crlf", "one\r\ntwo\r\n")
	w.put("latin", "caf\xe9\n")
	w.put("nul", "a\x00b\n")
	w.put("empty", "")
	w.put("gone", "gone\n")
	w.put("deep/er/gone", "gone\n")
	w.put("script", "#!/bin/sh\n")
	w.put("run", "#!/bin/sh\n")
	w.must(os.Chmod(w.path("run"), 0o755))
	w.put("open", "open\n")
	w.must(os.Chmod(w.path("open"), 0o664))
	w.put("to-folder", "a file\n")
	w.put("to-file/inner", "inner\n")
	w.put("to-link/inner", "inner\n")
	w.put("name \xe9\n\"x", "odd name\n")
	w.put("-dash", "dash\n")
	w.put("*?[a]", "glob\n")
	w.must(os.Symlink("text", w.path("link")))
	w.must(os.Symlink("/nowhere", w.path("link-gone")))
	w.put("was-file", "was a file\n")
	w.must(os.Mkdir(w.path("kept-empty"), 0o700))
	before := w.tree()
	c.turn(func() {
		w.put("text", "one\n2\n")
		w.put("noend", "one\ntwo\nthree")
		w.put("crlf", "one\r\nzwei\r\n")
		w.put("latin", "th\xe9\n")
		w.put("nul", "a\x00c\n")
		w.put("empty", "no longer\n")
		remove("gone")
		remove("deep")
		w.must(os.Chmod(w.path("script"), 0o700))
		w.must(os.Chmod(w.path("run"), 0o644))
		w.put("open", "opened\n")
		remove("to-folder")
		w.put("to-folder/inner", "x\n")
		remove("to-file")
		w.put("to-file", "now a file\n")
		remove("to-link")
		w.must(os.Symlink("deeper", w.path("to-link")))
		w.put("deeper/inner", "new\n")
		w.put("name \xe9\n\"x", "odd\n")
		w.put("-dash", "dashed\n")
		w.put("*?[a]", "globbed\n")
		remove("link")
		w.must(os.Symlink("gone", w.path("link")))
		remove("link-gone")
		remove("was-file")
		w.must(os.Symlink("/etc/passwd", w.path("was-file")))
		w.put("kept-empty/new", "new\n")
		w.put("new/folder/file", "new\n")
	})
	after := w.tree()
	// By file: those that don't need another first.
	for _, name := range []string{"text", "noend", "crlf", "latin", "nul", "empty", "gone", "script", "run", "open", "-dash", "*?[a]", "link", "link-gone", "was-file", "new/folder/file", "name \xe9\n\"x", "kept-empty/new"} {
		if got := c.text("return undo(...)", name); got != "restored" {
			t.Errorf("%q: %s", name, got)
		}
	}
	if got := c.text("return undo(...)", "to-folder"); got != "refused: the path is now a folder" {
		t.Error(got)
	}
	for name, want := range before {
		if _, isDir := before[name+"/inner"]; !isDir && !strings.HasPrefix(name, "to-") && !strings.HasPrefix(name, "deep") {
			if diff := cmp.Diff(want, w.tree()[name]); diff != "" {
				t.Errorf("%q %s", name, diff)
			}
		}
	}
	if info, err := os.Stat(w.path("open")); err != nil || info.Mode() != 0o664 {
		t.Errorf("a file that was always there has another mode: %v %v", info, err)
	}
	c.lua("return restore(1)")
	w.checkTree(before)
	// The undos and the restore are undone one by one.
	for range 19 {
		c.lua("return unrestore()")
	}
	w.checkTree(after)
	c.checkLua(`"nothing"`, "unrestore()")
	w.userGit("", "status")
}

// Attributes and configuration of the workspace change no bytes and run no program; the user's index stays.
func TestNeovimSnapshotRunsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	marker := filepath.Join(w.root, "ran")
	script := w.write("bin/evil", "#!/bin/sh\necho \"$0 $*\" >> '"+marker+"'\ncat\n")
	w.must(os.Chmod(script, 0o700))
	w.userGit("", "init", "-q")
	w.put("nested/file", "x\n")
	w.userGit("nested", "init", "-q")
	w.userGit("nested", "add", "-A")
	w.userGit("nested", "commit", "-qm", "x")
	w.put("nested/file", "y\n")
	w.put("empty-nested/file", "x\n")
	w.userGit("empty-nested", "init", "-q")
	w.put("staged", "staged\n")
	w.userGit("", "add", "staged")
	for _, folder := range []string{"", "nested"} {
		for key, value := range map[string]string{
			"core.fsmonitor": script, "filter.evil.clean": script, "filter.evil.smudge": script, "filter.evil.required": "true",
			"filter.evil.process": script, "core.hooksPath": filepath.Dir(script), "alias.add": "!" + script, "alias.update-index": "!" + script,
			"diff.evil.textconv": script, "diff.external": script, "diff.evil.command": script, "merge.evil.driver": script,
			"core.editor": script, "core.pager": script, "core.sshCommand": script, "core.gitProxy": script, "gpg.program": script,
			"commit.gpgSign": "true", "core.attributesFile": w.path(".gitattributes"), "core.autocrlf": "true", "core.worktree": "/",
			"core.alternateRefsCommand": script, "credential.helper": script, "trace2.normalTarget": marker,
		} {
			config := filepath.Join(w.path(folder), ".git", "config")
			section, name, _ := strings.Cut(key, ".")
			if middle, last, ok := strings.Cut(name, "."); ok {
				section, name = fmt.Sprintf("%s %q", section, middle), last
			}
			f, err := os.OpenFile(config, os.O_APPEND|os.O_WRONLY, 0)
			w.must(err)
			_, err = fmt.Fprintf(f, "[%s]\n%s = %q\n", section, name, value)
			w.must(err)
			w.must(f.Close())
		}
	}
	for _, hook := range []string{"post-index-change", "pre-commit", "reference-transaction", "pre-auto-gc"} {
		w.must(os.Symlink(script, w.write("bin/x", "")+"-"+hook))
		w.must(os.MkdirAll(w.path(".git/hooks"), 0o700))
		w.must(os.Symlink(script, w.path(".git/hooks/"+hook)))
		w.must(os.Symlink(script, filepath.Join(filepath.Dir(script), hook)))
	}
	attributes := "* filter=evil ident diff=evil merge=evil text eol=crlf working-tree-encoding=UTF-16\n[attr]binary filter=evil\n"
	w.put(".gitattributes", attributes)
	w.put("sub/.gitattributes", attributes)
	w.put("sub/file", "$Id: x$\na\r\nb\nc\n")
	w.put("file", "$Id$\na\r\nb\n")
	w.put("git", "#!/bin/sh\necho workspace git >> '"+marker+"'\n")
	w.must(os.Chmod(w.path("git"), 0o755))
	index := w.get(".git/index")
	objects := w.userGit("", "-c", "core.fsmonitor=false", "-c", "core.worktree="+w.workspace, "count-objects", "-v")
	w.must(os.RemoveAll(marker)) // of the user's own git
	w.env = append(w.env, "GIT_DIR="+w.path(".git"), "GIT_INDEX_FILE="+w.path(".git/index"), "GIT_EXTERNAL_DIFF="+script, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0="+script)
	for i, entry := range w.env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			w.env[i] = "PATH=.:" + w.workspace + ":" + path
		}
	}
	c := w.checkpoints()
	before := w.tree()
	c.turn(func() {
		w.put("file", "$Id$\nb\r\nb\n")
		w.put("sub/file", "other\n")
		w.put("sub/new", "new\n")
		w.put("nested/file", "z\n")
	})
	c.checkLua(`["file 1","sub/file 1","sub/new 1"]`, "listed()")
	c.checkLua(`["empty-nested/","nested/"]`, "current().uncovered")
	w.put("file", "$Id$\nb\r\nb\nmine\n") // needs a merge
	c.checkLua(`{"file":"merged","sub/file":"restored","sub/new":"restored"}`, "restore(1)")
	before["file"] += "mine\n"
	before["nested/file"] = strings.Replace(before["nested/file"], "y\n", "z\n", 1)
	w.checkTree(before)
	if raw, err := os.ReadFile(marker); err == nil {
		t.Errorf("a program of the workspace ran:\n%s", raw)
	}
	if index != w.get(".git/index") {
		t.Error("the user's index changed")
	}
	w.env = w.env[:len(w.env)-5]
	if got := w.userGit("", "-c", "core.fsmonitor=false", "-c", "core.worktree="+w.workspace, "count-objects", "-v"); got != objects {
		t.Errorf("objects in the user's repository: %s, not %s", got, objects)
	}
}

// Ignored files are in no snapshot, and an undo never deletes a file that was there before the turn.
func TestNeovimSnapshotCovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.userGit("", "init", "-q")
	w.write("user/excludes", "*.mine\n")
	w.write("user/config/git/config", "[core]\nexcludesFile = "+filepath.Join(w.root, "user/excludes")+"\n")
	w.put(".git/info/exclude", "/private\n")
	w.put(".gitignore", "node_modules\nsecret\n")
	w.put("file", "x\n")
	c := w.checkpoints()
	var size string
	for i := range 3 {
		for j := range 50 {
			w.put(fmt.Sprintf("node_modules/a%d/%d.js", i, j), strings.Repeat(fmt.Sprint(i, j), 1000))
		}
		for _, name := range []string{"private", "deep/private", "secret", "a.mine"} {
			w.put(name, fmt.Sprint(i))
		}
		w.put("deep/private", "not ignored")
		got := c.lua(`return work(function(store) store:snapshot("1") return store.git:run({ "ls-files" }) end)`)
		if i == 0 {
			size = got
		}
		if got != size || got != `".gitignore\ndeep/private\nfile\n"` {
			t.Errorf("the snapshot has %s", got)
		}
	}
	// The turn makes the ignored files visible, and a folder a repository.
	w.put("sub/mine", "mine\n")
	w.put("repo/.git/HEAD", "ref: refs/heads/main\n")
	w.put("repo/.git/objects/x", "")
	w.put("repo/.git/refs/x", "")
	w.put("repo/mine", "mine\n")
	c.turn(func() {
		w.put(".gitignore", "other\n")
		w.put("new", "new\n")
		w.must(os.RemoveAll(w.path("repo/.git")))
	})
	c.checkLua(`[".gitignore 1","new 1"]`, "listed()")
	c.checkLua(`{".gitignore":"restored","new":"restored"}`, "restore(1)")
	for name, want := range map[string]string{"secret": "2", "node_modules/a0/1.js": strings.Repeat("01", 0) + w.get("node_modules/a0/1.js"), "repo/mine": "mine\n", "sub/mine": "mine\n", "new": "no file"} {
		if got := w.get(name); got != want || name != "new" && got == "no file" {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// A root inside of a repository has the ignore patterns of the folders above it.
func TestNeovimSnapshotBelowRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.checkpoints()
	for _, test := range []struct{ pattern, path, want string }{
		{"*.o", "a/b", `"*.o"`}, {"/a/b/build", "a/b", `"/build"`}, {"a/*/build/", "a/b", `"/build/"`}, {"/other/build", "a/b", "null"},
		{"**/x", "a/b", `"**/x"`}, {"!a/b/keep", "a/b", `"!/keep"`}, {"/a", "a/b", "null"}, {"a/**/x", "a/b", `"**/x"`}, {"# a", "a", "null"}, {"/x", "", `"/x"`},
		{"/a*/b", "a/b", "null"},
	} {
		c.checkLua(test.want, `require("codex-bridge.checkpoint.ignore").rebase(...)`, test.pattern, test.path)
	}
	w.put(".gitignore", "*.o\n/sub/build\n")
	w.put("sub/a.o", "x")
	w.put("sub/build/x", "x")
	w.put("sub/file", "x")
	c.lua(`vim.cmd.cd("sub") thread.cwd = vim.fn.getcwd()`)
	c.checkLua(`"file\n"`, `work(function(store) store:snapshot("1") return store.git:run({ "ls-files" }) end)`)
}

// Old snapshots are deleted with their objects; new ones stay. Only the user can read the store.
func TestNeovimSnapshotCleanup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.put("file", "x\n")
	c := w.checkpoints()
	c.turn(func() { w.put("file", "new\n") })
	c.lua(`old = work(function(store)
  local oid = store:put("old content\n")
  local tree = vim.trim(store.git:run({ "mktree" }, "100644 blob " .. oid .. "\told\n"))
  for i, age in ipairs({ 15, 13 }) do
    local date = { GIT_COMMITTER_DATE = os.time() - age * 86400 .. " +0000" }
    local commit = vim.trim(store.git:run({ "commit-tree", tree, "-F", "-" }, "1\nx\n", date))
    for side, value in pairs({ before = commit, after = commit, info = oid }) do
      store:set_ref(("refs/turns/old/t%d/%s"):format(i, side), value)
    end
  end
  store:clean()
end)`)
	c.checkLua(`{"old":["refs/turns/old/t2"],"thread":["refs/turns/thread/t1"]}`, `(function()
  local names = {}
  for _, thread in ipairs({ "old", "thread" }) do
    names[thread] = vim.tbl_map(function(entry) return entry.name end, work(function(store) return store:list("refs/turns/" .. thread) end))
  end
  return names
end)()`)
	if got := c.text(`return work(function(store) return store.git:run({ "for-each-ref", "--format=%(refname)", "refs/turns/old/t1" }) end)`); got != "" {
		t.Errorf("old refs: %s", got)
	}
	c.checkLua(`{"file":"restored"}`, "restore(1)")
	for _, folder := range []string{"", "/.."} {
		dir := c.text("return stores.open(thread.cwd).dir") + folder
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of the store: %v %v", info, err)
		}
	}
}
