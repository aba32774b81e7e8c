//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// The settings that Codex reports under each preset, for a client that requests nothing, and for
// one that requests everything.
func TestPresetsSetThreads(t *testing.T) {
	t.Parallel()
	all := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access", "approvalsReviewer": "user"}
	little := map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only", "approvalsReviewer": "user"}
	for name, tt := range map[string]struct {
		policy string
		params map[string]any
		want   string // approval, sandbox, reviewer
		folder string // the workspace's policy file
	}{
		"yolo, all":              {`preset = "yolo"`, all, "never dangerFullAccess user", ""},
		"yolo, little":           {`preset = "yolo"`, little, "untrusted readOnly user", ""},
		"guardian, all":          {`preset = "guardian"`, all, "on-request workspaceWrite user", ""},
		"guardian, model":        {`preset = "guardian"`, map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "approvalsReviewer": "auto_review"}, "on-request workspaceWrite auto_review", ""},
		"auto, all":              {`preset = "auto"`, all, "on-request workspaceWrite user", ""},
		"ask, model":             {`preset = "ask"`, map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access", "approvalsReviewer": "auto_review"}, "on-request workspaceWrite user", ""},
		"security, ask":          {"security = \"full\"\nask = \"always\"", all, "on-request dangerFullAccess user", ""},
		"ask, read-only":         {"preset = \"ask\"\nsandbox = \"read-only\"", all, "on-request readOnly user", ""},
		"workspace tightens":     {`security = "full"`, all, "on-request workspaceWrite user", `preset = "ask"`},
		"workspace can't loosen": {`preset = "ask"`, all, "on-request workspaceWrite user", `security = "full"`},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n" + tt.policy + "\n"})
			if tt.folder != "" {
				w.write("workspace/.codex-bridge.toml", "[policy]\n"+tt.folder+"\n")
			}
			c := w.open(proxyArgv...)
			c.initialize(map[string]any{"experimentalApi": true})
			params := map[string]any{"cwd": w.workspace}
			for k, v := range tt.params {
				params[k] = v
			}
			result := c.must("thread/start", params)
			got := strings.Join([]string{editor.Member(result, "approvalPolicy"), editor.Member(result, "sandbox", "type"), editor.Member(result, "approvalsReviewer")}, " ")
			if got != tt.want {
				t.Errorf("Codex reports %s, want %s", got, tt.want)
			}
			c.closeAndWait()
		})
	}
}
