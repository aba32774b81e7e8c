package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/config"
)

// Words of several files meet: a later file only tightens.
func TestExecLayersTighten(t *testing.T) {
	folder := t.TempDir()
	managed, user := filepath.Join(folder, "managed.toml"), filepath.Join(folder, "user.toml")
	for _, c := range []struct{ managed, user, approval, sandbox string }{
		{`security = "full"`, `preset = "ask"`, "on-request", "workspace-write"},
		{`preset = "ask"`, `security = "full"`, "on-request", "workspace-write"},
		{`preset = "ask"`, `ask = "always"`, "on-request", "workspace-write"},
		{`ask = "always"`, `preset = "full"`, "on-request", "danger-full-access"},
	} {
		for file, text := range map[string]string{managed: c.managed, user: c.user} {
			if err := os.WriteFile(file, []byte("[policy]\n"+text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := config.Load(config.Options{Managed: managed, User: user})
		if err != nil {
			t.Errorf("%s, then %s: %v", c.managed, c.user, err)
			continue
		}
		if p := cfg.Policy; p.Approval[0] != c.approval || p.Sandbox != c.sandbox || p.Reviewers[0] != "user" {
			t.Errorf("%s, then %s: %v, %s, %v", c.managed, c.user, p.Approval, p.Sandbox, p.Reviewers)
		}
	}
}
