//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A user's configuration lets commands write another folder and use the network, and the policy does not, while it allows
// full access. A thread with workspace-write is forked, and resumed after a restart, and works as before.
func TestStoredThreadUnderFullAccess(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"control: Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\npreset = \"full\"\n"})
			root, alone := w.outside(), argv[0] == codexPath
			w.write("home/config.toml", "sandbox_mode = \"workspace-write\"\n"+w.read("home/config.toml")+fmt.Sprintf("\n[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = [%q]\n", root))
			c := w.openAnswering("decline", argv...)
			c.initialize(nil)
			works := func(how string, opened json.RawMessage) {
				t.Helper()
				if got := editor.Member(opened, "sandbox", "type") + " " + editor.Member(opened, "sandbox", "networkAccess"); got != fmt.Sprint("workspaceWrite ", alone) {
					t.Errorf("%s: the sandbox and the network are %s", how, got)
				}
				c.runTurn(editor.Member(opened, "thread", "id"), "RUN: touch "+how+"; touch "+root+"/"+how)
				if inside, outside := w.hasFile("workspace/"+how), w.hasFile("outside/"+how); !inside || outside != alone {
					t.Errorf("%s: written in the workspace: %v, in the root that the policy forbids: %v", how, inside, outside)
				}
			}
			opened := c.must("thread/start", map[string]any{"cwd": w.workspace})
			works("started", opened)
			again := map[string]any{"threadId": editor.Member(opened, "thread", "id")}
			works("forked", c.must("thread/fork", again))
			c.closeAndWait()
			c = w.openAnswering("decline", argv...)
			c.initialize(nil)
			works("resumed", c.must("thread/resume", again))
			c.closeAndWait()
		})
	}
}

// A thread that was only named gets the user's default when it is resumed, also beside the bridge's profile.
func TestNamedThreadTakesDefault(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"control: Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\npreset = \"full\"\nprotected_paths = [\"deploy\"]\n"})
			w.write("home/config.toml", "sandbox_mode = \"read-only\"\n"+w.read("home/config.toml"))
			c := w.openAnswering("decline", argv...)
			c.initialize(nil)
			again := map[string]any{"threadId": c.thread(map[string]any{"cwd": w.workspace})}
			c.must("thread/name/set", map[string]any{"threadId": again["threadId"], "name": "later"})
			c.closeAndWait()
			c = w.openAnswering("decline", argv...)
			c.initialize(nil)
			opened := c.must("thread/resume", again)
			c.runTurn(editor.Member(opened, "thread", "id"), "RUN: touch made")
			if got := editor.Member(opened, "sandbox", "type"); got != "readOnly" || w.hasFile("workspace/made") {
				t.Errorf("the sandbox is %s, and a command wrote: %v", got, w.hasFile("workspace/made"))
			}
			c.closeAndWait()
		})
	}
}
