//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// A replay of the trace shows the same conversation in the plugin, without a model and Codex.
func TestNeovimReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[trace]\nenabled = true\n"})
	// The plugin can also show the trace.
	looked := false
	scene := func(setup string) string {
		v := w.neovim(setup)
		v.runText("SAY: good day")
		v.startText("ESCALATE: echo from outside")
		v.waitScreen("ga  Accept once", "echo from outside")
		v.accept()
		v.waitTurns()
		v.runText("SAY: good night")
		chat := v.chatText()
		if !looked {
			looked = true
			v.typeKeys(":CodexTrace<CR>")
			v.waitLua("vim.fn.bufname():find('codex://trace/', 1, true) ~= nil")
			v.checkContains(v.text(`return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")`), "good day", "echo from outside", "good night")
		}
		v.typeKeys(":qa!<CR>")
		if left := w.waitProcesses(noProcesses); len(left) > 0 {
			t.Errorf("running after the end of Neovim:%s", describe(left))
		}
		return chat
	}
	recorded := scene("{}")
	files, err := trace.List(filepath.Join(w.root, "state", trace.FolderName))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	file := slices.MaxFunc(files, func(a, b trace.File) int { return int(a.Bytes - b.Bytes) })
	asked := len(w.model.Requests())
	player := w.write("player", fmt.Sprintf("#!/bin/sh\nexec '%s' trace replay '%s'\n", proxyPath, file.Path))
	if err := os.Chmod(player, 0o700); err != nil {
		t.Fatal(err)
	}
	played := scene(fmt.Sprintf("{ cmd = { %q } }", player))
	if diff := cmp.Diff(recorded, played); diff != "" {
		t.Errorf("-codex +replay\n%s", diff)
	}
	if len(w.model.Requests()) != asked {
		t.Error("the replay used a model")
	}
}
