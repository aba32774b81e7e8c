//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// A patch whose path has very many names is refused at once. The bridge once took minutes.
func TestLongPathIsJudgedQuickly(t *testing.T) {
	t.Parallel()
	for name, names := range map[string]int{"control": 3, "long": 30000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig + "\n[hooks]\ntimeout = \"1m\"\n", mute: "noise takes from the time of the hook"})
			patch := "cd . && apply_patch <<'E'\n*** Begin Patch\n*** Add File: sub" + strings.Repeat("/a", names) + "\n+x\n*** End Patch\nE"
			w.model.Add(scripted.Step{When: "PATCH", Reply: scripted.Reply{scripted.Call{Tool: "exec_command", Arguments: json.RawMessage(fmt.Sprintf(`{"cmd":%s}`, marshal(t, patch)))}}})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "PATCH")
			output := w.lastToolOutput()
			if names == 3 && !w.hasFile("workspace/sub/a/a/a") || names > 3 && !strings.Contains(output, "it is too long") {
				t.Errorf("no decision within the minute that Codex waits for the hook, or another one: written %v; %d bytes: %.300q", w.hasFile("workspace/sub/a/a/a"), len(output), output)
			}
			a.CloseInput()
		})
	}
}
