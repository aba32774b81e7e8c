package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

// A draft counts as the user's file, or as the last one of the workspace, and no file is read in its place.
func TestDraft(t *testing.T) {
	dir := t.TempDir()
	user, missing := filepath.Join(dir, "user.toml"), filepath.Join(dir, "missing.toml")
	if err := os.WriteFile(user, []byte("[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	draft := func(text string, isWorkspace bool) *config.Draft {
		return &config.Draft{File: missing, Text: text, IsWorkspace: isWorkspace}
	}
	cfg, err := config.Load(config.Options{User: user, Draft: draft("[policy]\nmode = \"audit\"\n", false)})
	if err != nil || cfg.Policy.Mode != config.Audit || cfg.Files()[0] != missing {
		t.Errorf("%v, %v", cfg, err)
	}
	cfg, err = config.Load(config.Options{User: user, Draft: draft("[policy]\nsandbox = \"read-only\"\n", true)})
	if err != nil || cfg.Policy.Sandbox != "read-only" || len(cfg.Files()) != 2 {
		t.Errorf("%v, %v", cfg, err)
	}
	for text, want := range map[string]string{
		"[policy]\nsandbx = 1\n":       "unknown key",
		strings.Repeat("#", 256<<10+1): "larger than",
	} {
		if _, err := config.Load(config.Options{User: user, Draft: draft(text, true)}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
}
