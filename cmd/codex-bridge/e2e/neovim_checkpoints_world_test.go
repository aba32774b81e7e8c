//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkpointLua has functions for tests of checkpoints. They run turns without Codex.
const checkpointLua = `
changes, stores, turns = require("codex-bridge.changes"), require("codex-bridge.checkpoint.store"), require("codex-bridge.checkpoint.turns")
thread = { id = "thread", cwd = vim.fn.getcwd() }
notices = {}
require("codex-bridge.session").of_thread = function()
  local chat = { notice = function(_, text) notices[#notices + 1] = text end }
  return { chat = setmetatable(chat, { __index = function() return function() end end }) }
end
function await(f)
  local results
  f(function(...) results = { n = select("#", ...), ... } end)
  assert(vim.wait(30000, function() return results end, 5), "no answer")
  return unpack(results, 1, results.n)
end
function work(f)
  local err, result = await(function(done) assert(stores.open(thread.cwd)):run(f, done) end)
  return err and error(err) or result
end
function begin(id)
  await(function(done) changes.before(thread, "turn " .. id, done) end)
  changes.started(thread.id, id)
end
function finish(id)
  local n = #seen("CodexChanges")
  changes.completed(thread.id, id)
  assert(vim.wait(30000, function() return #seen("CodexChanges") > n end, 5), table.concat(notices, "; "))
end
function current()
  local err, turn = await(function(done) changes.latest(thread, done) end)
  return err and error(err) or turn
end
function listed()
  return vim.tbl_map(function(f) return f.path .. (f.saved and " saved" or "") .. (f.hunks and " " .. #f.hunks or "") end, current().files)
end
function undo(path, hunk)
  for _, f in ipairs(current().files) do
    if f.path == path then
      local err, plan = await(function(done) changes.undo(current(), f, hunk, done) end)
      if plan and hunk and plan.result then f.undone[hunk] = true end
      return err or plan.verdict .. (plan.reason and ": " .. plan.reason or "")
    end
  end
  return "not in the list"
end
local function verdicts(plans)
  local out = vim.empty_dict()
  for _, plan in ipairs(plans) do out[plan.path] = plan.verdict .. (plan.reason and ": " .. plan.reason or "") end
  return out
end
function plan(first)
  local err, list, store = await(function(done) changes.restore_points(thread, done) end)
  assert(not err, err)
  local failed, plans, uncovered = await(function(done) changes.plan(store, vim.list_slice(list, first), done) end)
  assert(not failed, failed)
  return store, plans, uncovered
end
function restore(first)
  local store, plans = plan(first)
  local err = await(function(done) changes.apply(store, plans, nil, done) end)
  return err or verdicts(plans)
end
function unrestore()
  local err, record, store = await(function(done) changes.last_undo(thread.cwd, done) end)
  if not record then return err or "nothing" end
  local failed, plans = await(function(done) changes.plan(store, { record }, done) end)
  failed = failed or await(function(done) changes.apply(store, plans, record, done) end)
  return failed or verdicts(plans)
end
`

// inCheckpoints is a Neovim for tests of checkpoints.
type inCheckpoints struct {
	*inNeovim
	turns int
}

func (w *world) checkpoints() *inCheckpoints {
	w.t.Helper()
	c := &inCheckpoints{inNeovim: w.neovim("{}")}
	c.lua(checkpointLua)
	return c
}

// turn runs a turn that changes files.
func (c *inCheckpoints) turn(change func()) {
	c.t.Helper()
	c.turns++
	c.lua("begin(...)", fmt.Sprint("t", c.turns))
	change()
	c.lua("finish(...)", fmt.Sprint("t", c.turns))
}

// put writes a file of the workspace.
func (w *world) put(name, text string) { w.t.Helper(); w.write("workspace/"+name, text) }

func (w *world) path(name string) string { return filepath.Join(w.workspace, name) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// get returns the content of a file of the workspace, or the reason why there is none.
func (w *world) get(name string) string {
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		return "no file"
	}
	return string(b)
}

// tree returns the files of the workspace with the modes that git knows, except .git.
func (w *world) tree() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(w.workspace, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, w.workspace+"/")
		if err != nil || name == w.workspace {
			return err
		}
		if name == ".git" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%v %o", info.Mode().Type(), info.Mode()&0o100)
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			files[name] = text + " " + string(b)
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			files[name] = text + " " + target
			return err
		}
		files[name] = text
		return nil
	})
	w.must(err)
	return files
}

// checkTree fails the test unless the workspace is want.
func (w *world) checkTree(want map[string]string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.tree()); diff != "" {
		w.t.Errorf("the workspace, -want +got\n%s", diff)
	}
}

// userGit runs a git of the user.
func (w *world) userGit(folder string, args ...string) string {
	w.t.Helper()
	command := exec.Command("git", append([]string{"-C", w.path(folder), "-c", "user.name=u", "-c", "user.email=u@localhost"}, args...)...)
	command.Env = append(w.env[:len(w.env):len(w.env)], "GIT_CONFIG_NOSYSTEM=1")
	out, err := command.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// checkLua fails the test unless Lua code returns a value, as JSON.
func (c *inCheckpoints) checkLua(want, code string, args ...any) {
	c.t.Helper()
	if got := c.lua("return "+code, args...); got != want {
		c.t.Errorf("%s %v:\n%s\nnot\n%s", code, args, got, want)
	}
}

// numbered returns lines, some of them replaced.
func numbered(n int, replaced map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		text, ok := replaced[i]
		if !ok {
			text = fmt.Sprintf("line %d\n", i)
		}
		b.WriteString(text)
	}
	return b.String()
}

func decode[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}
