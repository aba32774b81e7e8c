package approvals_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/bridgetest/vectors"
	"codex-bridge.example/relay/approvals"
)

func TestHookRelayVectorsFingerprints(t *testing.T) {
	type payload struct {
		ToolInput  json.RawMessage
		Cwd, Model string
	}
	var v struct {
		PermissionFingerprintPairs []struct {
			Name string
			A, B payload
			Same bool
		}
	}
	vectors.Read(t, "hook_relay.json", &v)
	if len(v.PermissionFingerprintPairs) == 0 {
		t.Fatal("no cases")
	}
	root := t.TempDir()
	digest := func(p payload) string {
		a := approvals.Request{Provider: "codex", Session: "T", Workspace: root, Tool: "Bash", Input: p.ToolInput, Sandbox: "read-only"}
		if a.Input == nil {
			a.Input = []byte(`{}`)
		}
		if p.Cwd != "" { // the folder must exist
			a.Cwd = filepath.Join(root, p.Cwd)
			if err := os.MkdirAll(a.Cwd, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return newKey(t, a).Digest()
	}
	for _, pair := range v.PermissionFingerprintPairs {
		if got := digest(pair.A) == digest(pair.B); got != pair.Same {
			t.Errorf("%s: same %v, want %v", pair.Name, got, pair.Same)
		}
	}
}
