//go:build linux

package e2e_test

import (
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
	"codex-bridge.example/rpc"
)

// Codex ignores what a resume of a loaded thread requests. The bridge accepts the thread's own settings
// if the policy allows them, and refuses another folder. The running turn and the next one go on, and a
// gated thread stays gated.
func TestResumeOfLoadedThreadKeepsIt(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, test := range map[string]struct {
		approval string
		want     func(w *world) object
	}{
		"sandbox": {"on-request", func(*world) object { return object{"sandbox": "read-only"} }},
		"cwd":     {"on-request", func(w *world) object { return object{"cwd": filepath.Join(w.workspace, "sub")} }},
		"gate":    {"untrusted", func(*world) object { return object{"sandbox": "read-only", "approvalPolicy": "on-request"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\", \"untrusted\"]\nsandbox = \"workspace-write\"\n", mute: "many"})
			w.write("workspace/sub/x", "")
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(object{"approvalPolicy": test.approval, "sandbox": "workspace-write"})
			w.model.Add(scripted.Step{When: "FIRST", Reply: scripted.Reply{scripted.Run("touch made")}})
			turn, mark := a.startTurn(thread, "RUN: touch begun; while [ ! -e go ]; do sleep 0.05; done; echo FI''RST")
			a.waitUntil("the command", func() bool { return w.hasFile("workspace/begun") })
			params := test.want(w)
			params["threadId"], params["excludeTurns"] = thread, true
			if name != "cwd" {
				a.must("thread/resume", params)
			} else if err := a.mustFail("thread/resume", params); err.Code != int(rpc.CodeNotVerified) {
				t.Errorf("the resume: %v", err)
			}
			w.write("workspace/go", "")
			a.waitTurn(thread, turn, mark)
			if !w.hasFile("workspace/made") {
				t.Errorf("the running turn can't go on; the model was told %q", w.lastToolOutput())
			}
			if asked := a.turn(thread, "RUN: touch again"); (len(asked) > 0) != (test.approval == "untrusted") {
				t.Errorf("the next turn asks %q", asked)
			}
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
