//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// The settings under each preset, for a client that requests little, and for one that requests
// everything.
func TestPresetsSetThreads(t *testing.T) {
	t.Parallel()
	all := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access", "approvalsReviewer": "user"}
	little := map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only", "approvalsReviewer": "user"}
	for name, tt := range map[string]struct {
		policy string
		params map[string]any
		want   string // approval (that of Codex, if it is another one), sandbox, reviewer
		folder string // the workspace's policy file
	}{
		"yolo, all":              {`preset = "yolo"`, all, "never dangerFullAccess user", ""},
		"yolo, little":           {`preset = "yolo"`, little, "untrusted (on-request) readOnly user", ""},
		"guardian, all":          {`preset = "guardian"`, all, "never (granular) workspaceWrite user", ""},
		"guardian, model":        {`preset = "guardian"`, map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "approvalsReviewer": "auto_review"}, "on-request workspaceWrite auto_review", ""},
		"auto, all":              {`preset = "auto"`, all, "never (granular) workspaceWrite user", ""},
		"ask, model":             {`preset = "ask"`, map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access", "approvalsReviewer": "auto_review"}, "never (granular) workspaceWrite user", ""},
		"security, ask":          {"security = \"full\"\nask = \"always\"", all, "never (granular) dangerFullAccess user", ""},
		"ask, read-only":         {"preset = \"ask\"\nsandbox = \"read-only\"", all, "never (granular) readOnly user", ""},
		"workspace tightens":     {`security = "full"`, all, "never (granular) workspaceWrite user", `preset = "ask"`},
		"workspace can't loosen": {`preset = "ask"`, all, "never (granular) workspaceWrite user", `security = "full"`},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, dir := withTee(t, options{config: "[policy]\n" + tt.policy + "\n"})
			w := newWorld(t, o)
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
			approval := editor.Member(result, "approvalPolicy")
			for _, line := range recordedLines(t, dir, "out") {
				own := editor.Member(line, "result", "approvalPolicy")
				if strings.HasPrefix(own, `{"granular":`) {
					own = "granular"
				}
				if own != "" && own != approval {
					approval += " (" + own + ")"
				}
			}
			got := strings.Join([]string{approval, editor.Member(result, "sandbox", "type"), editor.Member(result, "approvalsReviewer")}, " ")
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			c.closeAndWait()
		})
	}
}
