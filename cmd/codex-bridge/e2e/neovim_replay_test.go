//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// What a person has seen in the plugin is seen again from the trace of it, with no model and
// no codex behind.
func TestNeovimReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[trace]\nenabled = true\n"})
	// The trace is to be seen in the plugin, too.
	looked := false
	scene := func(setup string) string {
		v := w.neovim(setup)
		v.says("SAY: good day")
		v.begins("ESCALATE: echo from outside")
		v.sees("1: Accept", "echo from outside")
		v.types("1<CR>")
		v.ends()
		v.says("SAY: good night")
		chat := v.chat()
		if !looked {
			looked = true
			v.types(":CodexTrace<CR>")
			v.until("vim.fn.bufname():find('codex://trace/', 1, true) ~= nil")
			v.wants(v.text(`return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")`), "good day", "echo from outside", "good night")
		}
		v.types(":qa!<CR>")
		if left := w.await(none); len(left) > 0 {
			t.Errorf("after the end of Neovim there are:%s", describe(left))
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
		t.Error("the replay has asked a model")
	}
}
