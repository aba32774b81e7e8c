//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Installed as a package, as in the README, the plugin needs no configuration: commands and help
// exist, and only the commands load before the first use.
func TestNeovimInstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	site := filepath.Join(w.root, "user", "data", "nvim", "site", "pack", "codex", "start", "codex-bridge")
	if err := os.CopyFS(site, os.DirFS(filepath.Join(repositoryRoot(t), "editors", "nvim"))); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(w.root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(proxyPath, filepath.Join(bin, "codex-bridge")); err != nil {
		t.Fatal(err)
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
	cmd := exec.CommandContext(deadline(t), neovimProgram(t), "--headless", "-i", "NONE", "+helptags ALL", "+"+look, "+qall!")
	cmd.Env = append(w.env[:len(w.env):len(w.env)], "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Dir = w.workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := strings.ReplaceAll(string(out), "\r", "")
	for _, want := range []string{"loaded: codex-bridge.commands codex-bridge.file_window codex-bridge.strings\n", "help: codex-bridge.txt\n", "## Codex\n\ninstalled\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
}
