//go:build linux

package e2e_test

import (
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A client that wants to be asked about each command is asked after the thread was opened again, by a
// resume or a fork, in the same process or after a restart, and also about a queued input. With the bridge,
// Codex stores on-request for such a thread. A thread whose client did not want that is not asked about.
func TestThreadIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"bridge": proxyArgv, "control: Codex alone": {codexPath, "app-server"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\", \"untrusted\"]\n"})
			c := w.openAnswering("decline", argv...)
			c.initialize(nil)
			sandboxed := func(approval string) map[string]any {
				return map[string]any{"sandbox": "workspace-write", "approvalPolicy": approval}
			}
			asked, free := c.thread(sandboxed("untrusted")), c.thread(sandboxed("on-request"))
			refuses := func(thread, file string) {
				t.Helper()
				c.runTurn(thread, "RUN: touch "+file)
				if w.hasFile("workspace/" + file) {
					t.Errorf("%s was written without a question", file)
				}
			}
			opensAsked := func(method string) string {
				t.Helper()
				opened := c.must(method, map[string]any{"threadId": asked, "sandbox": "workspace-write"})
				if got := editor.Member(opened, "approvalPolicy"); got != "untrusted" {
					t.Errorf("%s: the approval policy is %s", method, got)
				}
				return editor.Member(opened, "thread", "id")
			}
			refuses(asked, "first")
			c.runTurn(free, "RUN: touch free")
			c.must("thread/unsubscribe", map[string]any{"threadId": asked})
			refuses(opensAsked("thread/resume"), "unsubscribed")
			refuses(opensAsked("thread/fork"), "forked")
			c.closeAndWait()

			c = w.openAnswering("decline", argv...)
			c.initialize(map[string]any{"experimentalApi": true})
			refuses(opensAsked("thread/fork"), "forked-later")
			mark := c.Mark()
			opensAsked("thread/resume")
			queued := input(asked, "RUN: touch queued")
			queued["clientUserMessageId"] = "m"
			c.must("thread/queue/add", queued)
			c.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == asked })
			if w.hasFile("workspace/queued") {
				t.Error("a queued input's command ran without a question")
			}
			resumed := c.must("thread/resume", map[string]any{"threadId": free, "sandbox": "workspace-write"})
			c.runTurn(free, "RUN: touch later")
			if got := editor.Member(resumed, "approvalPolicy"); got != "on-request" || !w.hasFile("workspace/free") || !w.hasFile("workspace/later") {
				t.Errorf("a thread that ran commands without questions asks about them: %s, %v", got, w.hasFile("workspace/later"))
			}
			c.closeAndWait()
		})
	}
}
