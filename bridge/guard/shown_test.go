package guard

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// A client that chooses Codex's profile ":workspace" is shown that profile, although Codex has the
// bridge's in its place. Variants of the bridge's profile have other rights, and keep their names.
func TestClientSeesTheProfileItChose(t *testing.T) {
	const shown = `{"id":":workspace","extends":null}`
	for _, test := range []struct {
		name, profile, want string
		mode                config.Mode
	}{
		{"the bridge's profile", `{"id":"codex-bridge","extends":":workspace"}`, shown, config.Enforce},
		{"a variant", `{"id":"codex-bridge-roots","extends":"codex-bridge"}`, `{"id":"codex-bridge-roots","extends":"codex-bridge"}`, config.Enforce},
		{"another profile", `{"id":":read-only","extends":null}`, `{"id":":read-only","extends":null}`, config.Enforce},
		{"no profile", `null`, `null`, config.Enforce},
		{"under audit", `{"id":"codex-bridge","extends":":workspace"}`, `{"id":"codex-bridge","extends":":workspace"}`, config.Audit},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newAgentWorld(t, func(p *config.Policy) {
				p.Mode, p.Sandbox, p.Approval, p.WritableRoots = test.mode, "workspace-write", []string{"on-request"}, []string{"${workspace}"}
			})
			root := filepath.Dir(w.write("work/x", ""))
			const fields = `"approvalPolicy":"on-request","approvalsReviewer":"user","model":"gpt-5.5","activePermissionProfile":`
			writes := `{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}`
			sent := &policy.SentSettings{Method: "thread/start", Workspace: root, Profile: policy.Profile{Defined: true}}
			opened := `{"thread":{"id":"t"},"cwd":"` + root + `","sandbox":` + writes + `,` + fields + `{"id":"codex-bridge","extends":":workspace"}}`
			if err := w.g.threads.registerOpened(w.g.Policy, w.g, openedThread{sent: sent, result: value(t, opened), world: w.g.world, order: 1}); err != nil {
				t.Fatal(err)
			}
			line := `{"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"cwd":"` + root + `","sandboxPolicy":` + writes + `,` + fields + `PROFILE}}}`
			e, err := rpc.ParseEnvelope([]byte(strings.Replace(line, "PROFILE", test.profile, 1)))
			if err != nil {
				t.Fatal(err)
			}
			msg := &bridge.ServerMessage{Envelope: e, Line: []byte(strings.Replace(line, "PROFILE", test.profile, 1))}
			w.g.settingsUpdated(t.Context(), msg)
			if want := strings.Replace(line, "PROFILE", test.want, 1); string(msg.Line) != want {
				t.Errorf("the client gets\n%s, want\n%s", msg.Line, want)
			}
		})
	}
}
