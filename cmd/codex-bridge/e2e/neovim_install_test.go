//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkInstalled checks a Neovim that finds the plugin without setup{}: commands and help exist, and only the commands load
// before the first use. command runs before it.
func (w *world) checkInstalled(command string) {
	w.t.Helper()
	bin := filepath.Join(w.root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(proxyPath, filepath.Join(bin, "codex-bridge")); err != nil {
		w.t.Fatal(err)
	}
	const look = `lua
local loaded = vim.tbl_filter(function(name) return vim.startswith(name, "codex-bridge") end, vim.tbl_keys(package.loaded))
table.sort(loaded)
print("loaded: " .. table.concat(loaded, " "))
vim.cmd.help("codex-bridge")
print("help: " .. vim.fs.basename(vim.api.nvim_buf_get_name(0)))
vim.cmd.Codex("SAY: installed")
local function done() return require("codex-bridge").about().state == "idle" and vim.api.nvim_buf_line_count(vim.fn.bufnr("codex://chat")) > 1 end
vim.wait(100000, done)
print(table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr("codex://chat"), 0, -1, false), "\n"))`
	cmd := exec.CommandContext(deadline(w.t), neovimProgram(w.t), "--headless", "-i", "NONE", "+"+command, "+"+look, "+qall!")
	cmd.Env = append(w.env[:len(w.env):len(w.env)], "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Dir = w.workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	said := strings.ReplaceAll(string(out), "\r", "")
	for _, want := range []string{"loaded: codex-bridge.commands codex-bridge.file_window codex-bridge.strings\n", "help: codex-bridge.txt\n", "## Codex\n\ninstalled\n"} {
		if !strings.Contains(said, want) {
			w.t.Errorf("%q is missing in\n%s", want, said)
		}
	}
}

// Installed as a package, as in the README, the plugin needs no configuration.
func TestNeovimInstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	site := filepath.Join(w.root, "user", "data", "nvim", "site", "pack", "codex", "start", "codex-bridge")
	if err := os.CopyFS(site, os.DirFS(filepath.Join(repositoryRoot(t), "editors", "nvim"))); err != nil {
		t.Fatal(err)
	}
	w.checkInstalled("helptags ALL")
}

// The folder of a release, in a repository of git, is installed by vim.pack, or as a package where Neovim has no vim.pack.
func TestNeovimInstalledFromRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	dist := filepath.Join(w.root, "dist")
	cmd := exec.CommandContext(deadline(t), "go", "run", "./packaging", "-trial", "-only", "Neovim plugin", "-version", "1.2.3", "-repository", "https://host.example/codex-bridge", "-dist", dist)
	cmd.Dir = repositoryRoot(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-qm", "1.2.3"}, {"tag", "v1.2.3"}} {
		w.git("dist/codex-bridge.nvim", args...)
	}
	w.checkInstalled(fmt.Sprintf(`lua
local source, site = "file://%s/codex-bridge.nvim", vim.fn.stdpath("data") .. "/site/pack/codex/start/codex-bridge.nvim"
if vim.pack then
  vim.pack.add({ { src = source, version = vim.version.range("1") } }, { confirm = false })
else
  assert(vim.system({ "git", "clone", "-q", "--branch", "v1.2.3", source, site }):wait().code == 0)
  vim.cmd.packloadall({ bang = true })
end
vim.cmd.helptags("ALL")`, dist))
}
