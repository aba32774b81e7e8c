//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A session whose thread is lost keeps the sandbox and approval policy with which the client started or bound
// the thread: in a trusted project Codex alone would let the new thread write without a question.
func TestLostSessionKeepsLimits(t *testing.T) {
	t.Parallel()
	strict := map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}
	for name, test := range map[string]struct {
		config string
		attach bool           // bind an open thread by thread/resume
		limits map[string]any // of the thread
		writes bool
	}{
		"control":              {limits: map[string]any{}, writes: true},
		"start":                {limits: strict},
		"resume":               {limits: strict, attach: true},
		"start under a policy": {limits: strict, config: "[policy]\napproval = [\"on-request\", \"untrusted\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+w.workspace+"\"]\ntrust_level = \"trusted\"\n")
			c := w.openAnswering("decline", proxyArgv...)
			c.initializeWithBridge()
			start := map[string]any{"cwd": w.workspace, "bridge": map[string]any{"sessionKey": "chat"}}
			for member, value := range test.limits {
				start[member] = value
			}
			if test.attach {
				delete(start, "bridge")
			}
			thread, _ := c.openThread("thread/start", start)
			c.runTurn(thread, "SAY: hello")
			if test.attach {
				c.must("thread/resume", map[string]any{"threadId": thread, "bridge": map[string]any{"sessionKey": "chat"}})
			}
			c.closeAndWait()
			for _, file := range rollouts(t, w.home, thread) {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			c = w.openAnswering("decline", proxyArgv...)
			c.initializeWithBridge()
			made := filepath.Join(w.workspace, "made")
			if r := c.runSessionTurn("chat", "RUN: touch "+made, nil); r.ThreadID == thread {
				t.Fatal("the lost thread was resumed")
			}
			c.closeAndWait()
			if writes := w.hasFile("workspace/made"); writes != test.writes {
				t.Errorf("the command of the new thread writes: %v, want %v", writes, test.writes)
			}
		})
	}
}
