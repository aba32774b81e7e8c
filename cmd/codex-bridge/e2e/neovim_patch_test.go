//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// updatePatch returns a model's patch that changes one line of a file.
func updatePatch(path, context, from, to string) scripted.Reply {
	return scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: fmt.Sprintf(
		"*** Begin Patch\n*** Update File: %s\n@@\n %s\n-%s\n+%s\n*** End Patch\n", path, context, from, to)}}
}

// A patch opens as a diff in a new tab, which closes with the answer. Buffers reload, except
// changed ones.
func TestNeovimPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\nthree\nfour\n")
	w.model.Add(
		scripted.Step{When: "first change", Reply: updatePatch("poem.txt", "one", "two", "zwei")},
		scripted.Step{When: "second change", Reply: updatePatch("poem.txt", "zwei", "three", "drei")},
		scripted.Step{When: "third change", Reply: updatePatch("poem.txt", "drei", "four", "vier")},
	)
	v := w.neovim("{}")
	v.typeKeys(":edit poem.txt<CR>")
	v.startText("the first change")
	v.openDiff("poem.txt (now)", "zwei")
	v.recordScreen("asked")
	if got := v.lua("return #vim.api.nvim_list_tabpages()"); got != "2" {
		t.Errorf("%s tabs", got)
	}
	v.typeKeys("ga")
	v.waitTurns()
	v.waitLua("#vim.api.nvim_list_tabpages() == 1")
	poem := "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('poem.txt'), 0, -1, true), ' ')"
	if got := v.text(poem); got != "one zwei three four" {
		t.Errorf("the buffer has %q", got)
	}
	v.waitScreen("▸ Patch poem.txt · done")
	v.recordScreen("accepted")

	v.startText("the second change")
	v.openDiff("poem.txt (now)", "drei")
	v.typeKeys("gr")
	v.waitTurns()
	v.waitLua("#vim.api.nvim_list_tabpages() == 1")
	if got := v.text(poem); got != "one zwei three four" {
		t.Errorf("after declining, the buffer has %q", got)
	}

	// A new file; the tab is closed and comes back.
	v.startText("PATCH: new.txt\nfresh")
	v.openDiff("new.txt (new file)")
	v.typeKeys(":q<CR>")
	v.waitLua("#vim.api.nvim_list_tabpages() == 1 and require('codex-bridge').about().pending_requests == 1")
	v.openDiff("new.txt (new file)")
	v.typeKeys(":CodexAccept<CR>")
	v.waitTurns()
	if !w.workspaceHasFile("new.txt") {
		t.Error("the accepted file is not there")
	}

	// A changed buffer stays unchanged.
	v.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('poem.txt'), 0, 1, true, { 'mine' })")
	w.write("workspace/poem.txt", "one\nzwei\ndrei\nfour\n")
	v.startText("the third change")
	v.waitScreen("vier", "ga  Accept once")
	v.accept()
	v.waitLua("vim.api.nvim_exec2('messages', { output = true }).output:find('your buffer has changes')")
	v.waitTurns()
	if got := v.text(poem); got != "mine zwei three four" {
		t.Errorf("the changed buffer has %q", got)
	}
	if raw, _ := os.ReadFile(filepath.Join(w.workspace, "poem.txt")); string(raw) != "one\nzwei\ndrei\nvier\n" {
		t.Errorf("the file has %q", raw)
	}
}

// The user views the files of a patch one by one and answers once.
func TestNeovimPatchOfSeveralFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/poem.txt", "one\ntwo\n")
	w.write("workspace/old.txt", "gone\n")
	w.model.Add(scripted.Step{When: "several", Reply: scripted.Reply{scripted.CustomCall{Tool: "apply_patch", Input: "*** Begin Patch\n" +
		"*** Add File: a.txt\n+fresh\n*** Delete File: old.txt\n*** Update File: poem.txt\n@@\n one\n-two\n+zwei\n*** End Patch\n"}}})
	v := w.neovim("{}")
	v.startText("several")
	v.openDiff("1/3")
	var files []string
	for _, place := range []string{"1/3", "2/3", "3/3"} {
		v.waitScreen(place, "ga accept")
		for _, file := range []string{"a.txt (new file)", "old.txt (deleted)", "poem.txt (after)"} {
			if strings.Contains(v.Screen().Text(), file) {
				files = append(files, file)
			}
		}
		v.recordScreen("a file")
		v.typeKeys("]f")
	}
	v.waitScreen("1/3")
	v.typeKeys("[f")
	v.waitScreen("3/3")
	slices.Sort(files)
	if len(slices.Compact(files)) != 3 {
		t.Errorf("shown: %q", files)
	}
	v.typeKeys("ga")
	v.waitTurns()
	v.waitLua("#vim.api.nvim_list_tabpages() == 1")
	if !w.workspaceHasFile("a.txt") || w.workspaceHasFile("old.txt") {
		t.Error("not all files were written")
	}
}

// The right side of the diff is the resulting file, for every patch; a patch that does not apply
// gives no guess.
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
