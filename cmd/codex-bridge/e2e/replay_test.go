//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// A recorded session of codex-acp's is played to it again, and it can't tell: neither does its
// editor see another step, nor does it send another method.
func TestReplayACP(t *testing.T) {
	t.Parallel()
	for _, permission := range []string{"allow_once", "reject_once"} {
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[trace]\nenabled = true\n"})
			prompts := []string{"good day", "RUN: echo from the shell", "ESCALATE: echo from outside", "PATCH: patched.txt\none", "good day again"}
			recorded := w.acp(proxyPath, "read-only", permission, prompts...)
			files, err := trace.List(filepath.Join(w.root, "state", trace.FolderName))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			// The one that was longest is the session's; codex-acp has one more for a title.
			file := slices.MaxFunc(files, func(a, b trace.File) int { return int(a.Bytes - b.Bytes) })
			asked := w.model.Requests()
			if err := os.RemoveAll(filepath.Join(w.workspace, "patched.txt")); err != nil {
				t.Fatal(err)
			}
			player := w.write("player", fmt.Sprintf("#!/bin/sh\nexec '%s' trace replay '%s'\n", proxyPath, file.Path))
			if err := os.Chmod(player, 0o700); err != nil {
				t.Fatal(err)
			}
			played := w.acp(player, "read-only", permission, prompts...)
			keep(t, strings.Join(played, "\n"))
			if diff := cmp.Diff(recorded, played); diff != "" {
				t.Errorf("-codex +replay\n%s", diff)
			}
			if len(w.model.Requests()) != len(asked) || w.exists("patched.txt") {
				t.Errorf("the replay asked a model, or wrote a file")
			}
		})
	}
}
