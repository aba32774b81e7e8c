//go:build linux

package e2e_test

import (
	"fmt"
	"testing"
)

// A client resumes a loaded thread with another sandbox, as Claude Code's plugin does with a read-only
// task after one that writes. Codex keeps the thread's sandbox, with the bridge as without it, and the
// thread stays usable.
func TestLoadedThreadIsResumedWithLess(t *testing.T) {
	t.Parallel()
	for _, protected := range []string{"", `protected_paths = [".git", ".github/workflows"]`} {
		for _, first := range []string{"workspace-write", "read-only"} {
			for _, then := range []string{"read-only", "workspace-write"} {
				if !isSampledName(3, fmt.Sprint(first, " ", then, " ", protected)) {
					continue
				}
				t.Run(fmt.Sprint(first, " ", then, " ", protected), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{config: "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\", \"untrusted\", \"never\"]\n" + protected + "\n"})
					c := w.newAcceptingEditor(proxyArgv...)
					thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": first})
					c.turn(thread, "SAY: hi")
					c.must("thread/resume", map[string]any{"threadId": thread, "cwd": w.workspace, "approvalPolicy": "never", "sandbox": then})
					c.turn(thread, "RUN: touch later")
					c.must("thread/resume", map[string]any{"threadId": thread, "cwd": w.workspace, "approvalPolicy": "never", "sandbox": first})
					c.turn(thread, "RUN: touch last")
					for _, file := range []string{"later", "last"} {
						if got := w.hasFile("workspace/" + file); got != (first == "workspace-write") {
							t.Errorf("%s was written: %v", file, got)
						}
					}
					c.closeAndWait()
				})
			}
		}
	}
}
