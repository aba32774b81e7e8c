//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

// permissionConfig has a handler that allows every PermissionRequest.
const permissionConfig = `
[policy]
mode = %q
sandbox = "workspace-write"
approval = ["on-request", "untrusted"]
[hooks]
events = ["pre_tool_use", "permission_request"]
[[hooks.handler]]
event = "permission_request"
command = ["/bin/echo", '{"decision":"allow"}']
`

// A hook's allow lets no call out of the sandbox. The PreToolUse hook can't see the escalation of
// these calls. Without enforcement the same allow lets them out.
func TestPermissionRequestAllow(t *testing.T) {
	t.Parallel()
	for mode, leaves := range map[string]bool{"audit": true, "enforce": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{
				config:      fmt.Sprintf(permissionConfig, mode),
				codexConfig: "suppress_unstable_features_warning = true\n[features]\ncode_mode = true\n",
			})
			out := filepath.Join(w.root, "outside")
			if err := os.Mkdir(out, 0o700); err != nil {
				t.Fatal(err)
			}
			run := func(id string, arguments map[string]any) scripted.Reply {
				text, err := json.Marshal(arguments)
				if err != nil {
					t.Fatal(err)
				}
				return scripted.Reply{scripted.Call{Tool: "exec_command", Arguments: text, ID: id}}
			}
			escalated := func(id, name string) scripted.Reply {
				return run(id, map[string]any{"cmd": "touch " + filepath.Join(out, name), "sandbox_permissions": "require_escalated"})
			}
			calls := map[string]scripted.Reply{
				"escaped":    escalated("a\"b\\u0041\n", "escaped"),
				"blank":      escalated(" ", "blank"),
				"shellpatch": run("", map[string]any{"cmd": "cd " + out + " && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: shellpatch\n+x\n*** End Patch\nEOF\n"}),
				"code": {scripted.CustomCall{Tool: "exec", Input: fmt.Sprintf(
					`text(JSON.stringify(await tools.exec_command({cmd:%q,sandbox_permissions:"require_escalated"})))`, "touch "+filepath.Join(out, "code"),
				)}},
			}
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(confined)
			for name, reply := range calls {
				w.model.Add(scripted.Step{When: "GO-" + name, Reply: reply})
				a.turn(thread, "GO-"+name)
				if w.hasFile("outside/"+name) != leaves {
					t.Errorf("%s: ran outside the sandbox: %t; the model got %q", name, !leaves, w.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}

// A rule that comes while a handler decides about a server's tool counts: the handler's allow does
// not reach Codex, and the question that follows is declined.
func TestRuleThatComesWhileAHandlerDecides(t *testing.T) {
	t.Parallel()
	const rule = "[[policy.rule]]\ntool = \"mcp__probe__*\"\ndecision = \"deny\"\n"
	for name, changes := range map[string]bool{"rule": true, "no rule": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n", codexConfig: mcpConfig("probe"), mute: "the configuration changes"})
			config := "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n[hooks]\ntimeout = \"30s\"\nevents = [\"pre_tool_use\", \"permission_request\"]\n" +
				"[[hooks.handler]]\nevent = \"permission_request\"\ntimeout = \"30s\"\ncommand = [\"/bin/sh\", \"-c\", " +
				fmt.Sprintf("%q", "touch "+w.root+"/asked; until [ -e "+w.root+"/go ]; do sleep 0.1; done; echo '{\"decision\":\"allow\"}'") + "]\n"
			w.write("config.toml", config+withLongGrace(config))
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(confined)
			turn, mark := a.startTurn(thread, `CALL: mcp__probe/touch {"path":"`+w.workspace+`/touched"}`)
			for !w.hasFile("asked") {
				if a.ctx.Err() != nil {
					t.Fatal("the handler does not run")
				}
				time.Sleep(20 * time.Millisecond)
			}
			if changes {
				a.reconfigures(config + rule)
			}
			w.write("go", "")
			a.waitTurn(thread, turn, mark)
			if w.hasFile("workspace/touched") == changes {
				t.Errorf("the tool ran: %t; the model got %q", !changes, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
