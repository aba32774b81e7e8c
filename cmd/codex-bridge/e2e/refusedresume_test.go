//go:build linux

package e2e_test

import (
	"path/filepath"
	"testing"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
	"codex-bridge/rpc"
)

// Codex ignores what a resume of a loaded thread requests. The bridge refuses the resume, and the running turn and the next
// one go on.
func TestRefusedResumeKeepsThread(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, want := range map[string]func(w *world) object{
		"sandbox": func(*world) object { return object{"sandbox": "read-only"} },
		"cwd":     func(w *world) object { return object{"cwd": filepath.Join(w.workspace, "sub")} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n", mute: "many"})
			w.write("workspace/sub/x", "")
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(object{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			w.model.Add(scripted.Step{When: "FIRST", Reply: scripted.Reply{scripted.Run("touch made")}})
			turn, mark := a.startTurn(thread, "RUN: touch begun; while [ ! -e go ]; do sleep 0.05; done; echo FI''RST")
			a.waitUntil("the command", func() bool { return w.hasFile("workspace/begun") })
			params := want(w)
			params["threadId"], params["excludeTurns"] = thread, true
			if err := a.mustFail("thread/resume", params); err.Code != int(rpc.CodeNotVerified) {
				t.Errorf("the resume: %v", err)
			}
			w.write("workspace/go", "")
			a.waitTurn(thread, turn, mark)
			if !w.hasFile("workspace/made") {
				t.Errorf("the running turn can't go on; the model was told %q", w.lastToolOutput())
			}
			a.turn(thread, "RUN: touch again")
			if !w.hasFile("workspace/again") {
				t.Errorf("the next turn can't write; the model was told %q", w.lastToolOutput())
			}
			if got := editor.Member(a.resume(thread, object{"excludeTurns": true}), "thread", "id"); got != thread {
				t.Errorf("it resumes %q", got)
			}
			a.closeAndWait()
		})
	}
}
