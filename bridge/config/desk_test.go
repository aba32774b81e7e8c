package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

const (
	deskKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	deskGroup = "[approvals.desk.groups.release]\nkeys = [\"" + deskKey + "\"]\n"
	deskRule  = "[[policy.rule]]\ncommand = \"make\"\ndecision = \"ask\"\napprovers = \"release\"\n"
)

// The group of a rule is of the rule's layer or an earlier one, and never of a repository.
func TestDeskLayers(t *testing.T) {
	for _, test := range []struct{ name, managed, user, workspace, want string }{
		{"one file", deskRule + deskGroup, "", "", ""},
		{"an earlier layer", deskGroup, deskRule, "", ""},
		{"a later layer", deskRule, deskGroup, "", `only a later layer, user `},
		{"a rule of a repository", deskGroup, "", deskRule, ""},
		{"a group of a repository", "", "", deskRule + deskGroup, "a workspace file can't set this"},
		{"a runner of a repository", deskGroup, "", "[approvals.desk]\nrunner = [\"" + deskKey + "\"]\n", "a workspace file can't set this"},
		{"a webhook of a repository", deskGroup, "", "[approvals.desk]\nwebhook = \"https://a.example\"\nwebhook_secret_env = \"A\"\n", "a workspace file can't set this"},
	} {
		dir := t.TempDir()
		o := config.Options{Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml"), Workspace: dir, Home: "/home/ada"}
		for file, text := range map[string]string{o.Managed: test.managed, o.User: test.user, filepath.Join(dir, config.WorkspaceFile): test.workspace} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := config.Load(o)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Runners of all layers count, Codex does not get the webhook's secret, and without a group that this
// version understands a rule denies.
func TestDeskValues(t *testing.T) {
	dir := t.TempDir()
	o := config.Options{Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml")}
	other := strings.Replace(deskKey, "IAABAgME", "IAEBAgME", 1)
	for file, text := range map[string]string{
		o.Managed: "[compat]\nignore_unknown = true\n" + deskRule + deskGroup + "quorum = 3\n[approvals.desk]\nrunner = [\"" + deskKey + "\"]\n",
		o.User:    "[approvals.desk]\nrunner = [\"" + other + "\"]\nwebhook = \"https://a.example\"\nwebhook_secret_env = \"DESK_SECRET\"\n[codex]\nenv_remove = [\"X\"]\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cfg.Approvals.Desk.Runner, []string{deskKey, other}) || !slices.Equal(cfg.Codex.EnvRemove, []string{"X", "DESK_SECRET"}) {
		t.Errorf("%v, %v", cfg.Approvals.Desk.Runner, cfg.Codex.EnvRemove)
	}
	if r := cfg.Policy.Rules[0]; r.Decision != "deny" || r.Approvers != "" {
		t.Errorf("the rule is %+v", r)
	}
}
