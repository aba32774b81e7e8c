//go:build linux

package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// After a client has read a folder of a second writable root, threads open and resume with that
// root, and their commands can write it.
func TestReadingKeepsRootUsable(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, read := range map[string]func(sub string) (string, object){
		"search": func(sub string) (string, object) {
			return "fuzzyFileSearch", object{"query": "x", "roots": []string{sub}}
		},
		"skills": func(sub string) (string, object) { return "skills/list", object{"cwds": []string{sub}} },
		"hooks":  func(sub string) (string, object) { return "hooks/list", object{"cwds": []string{sub}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n"})
			other := filepath.Dir(w.write("other/x", ""))
			sub := filepath.Dir(w.write("other/sub/x", ""))
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nwritable_roots = [\"${workspace}\", %q]\n", other)+withLongGrace("[policy]"))
			a := w.newAcceptingEditor(proxyArgv...)
			method, params := read(sub)
			roots := object{"runtimeWorkspaceRoots": []string{w.workspace, other}, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
			opened := a.thread(roots)
			a.turn(opened, "RUN: true")
			a.must(method, params)

			thread := a.thread(roots)
			a.turn(thread, "RUN: touch "+other+"/made")
			if !w.hasFile("other/made") {
				t.Errorf("a new thread can't write the root; the model was told %q", w.lastToolOutput())
			}
			a.must("thread/unsubscribe", object{"threadId": opened})
			if resumed := a.resume(opened, object{"excludeTurns": true}); editor.Member(resumed, "thread", "id") != opened {
				t.Errorf("it resumes %s", resumed)
			}
			a.turn(opened, "RUN: touch "+other+"/again")
			if !w.hasFile("other/again") {
				t.Errorf("the resumed thread can't write the root; the model was told %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
