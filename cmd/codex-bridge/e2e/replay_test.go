//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// The replay of a recorded session of codex-acp is indistinguishable for it: its editor sees the
// same steps, and it sends the same methods.
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
			// The longest trace is the session's; codex-acp has another one for a title.
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
			keepTranscript(t, strings.Join(played, "\n"))
			if diff := cmp.Diff(recorded, played); diff != "" {
				t.Errorf("-codex +replay\n%s", diff)
			}
			if len(w.model.Requests()) != len(asked) || w.workspaceHasFile("patched.txt") {
				t.Errorf("the replay used a model, or wrote a file")
			}
		})
	}
}
