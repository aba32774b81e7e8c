package config_test

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
)

// LooserKeys names the keys by which a configuration may allow more, in one direction only.
func TestLooserKeys(t *testing.T) {
	base := func() *config.Config {
		c := config.Default()
		c.Codex.MaxVersion = "0.171.0"
		p := &c.Policy
		p.Mode, p.Approval, p.Sandbox, p.Escalation = config.Enforce, []string{"untrusted", "on-request"}, "workspace-write", "deny"
		p.WritableRoots, p.ProtectedPaths, p.Models = []string{"${workspace}"}, []string{".git", ".codex"}, []string{"gpt-5*"}
		p.Methods = map[string]string{"fs/remove": "deny", "thread/archive": "ask"}
		c.Approvals.Remember, c.Approvals.Desk.Runner = "session", []string{"ssh-ed25519 AA"}
		c.Approvals.Desk.Groups = map[string]config.Group{"release": {Keys: []string{"ssh-ed25519 BB"}}}
		c.Hooks.OnFailure, c.Hooks.Handlers = "deny", []config.Handler{{Event: "pre_tool_use", Command: []string{"check"}}}
		return c
	}
	for name, test := range map[string]struct {
		change func(*config.Config)
		looser []string // keys that are looser after the change
		back   []string // keys that are looser without it
	}{
		"nothing":            {func(*config.Config) {}, nil, nil},
		"audit":              {func(c *config.Config) { c.Policy.Mode = config.Audit }, []string{"policy.mode"}, nil},
		"off":                {func(c *config.Config) { c.Policy.Mode, c.Policy.Sandbox = config.Off, "read-only" }, []string{"policy.mode"}, nil},
		"sandbox":            {func(c *config.Config) { c.Policy.Sandbox = "danger-full-access" }, []string{"policy.sandbox"}, nil},
		"read-only":          {func(c *config.Config) { c.Policy.Sandbox = "read-only" }, nil, []string{"policy.sandbox"}},
		"escalation":         {func(c *config.Config) { c.Policy.Escalation = "ask" }, []string{"policy.escalation"}, nil},
		"network":            {func(c *config.Config) { c.Policy.Network = true }, []string{"policy.network"}, nil},
		"another approval":   {func(c *config.Config) { c.Policy.Approval = []string{"untrusted", "on-request", "never"} }, []string{"policy.approval"}, nil},
		"a newer Codex":      {func(c *config.Config) { c.Codex.MaxVersion = "0.172.0" }, []string{"codex.max_version"}, nil},
		"any newer Codex":    {func(c *config.Config) { c.Codex.MaxVersion = "" }, []string{"codex.max_version"}, nil},
		"fewer Codex":        {func(c *config.Config) { c.Codex.MaxVersion = "0.171.0-alpha.1" }, nil, []string{"codex.max_version"}},
		"another first":      {func(c *config.Config) { c.Policy.Approval = []string{"on-request", "untrusted"} }, []string{"policy.approval"}, nil},
		"a root":             {func(c *config.Config) { c.Policy.WritableRoots = []string{"${workspace}", "/srv"} }, []string{"policy.writable_roots"}, nil},
		"no root":            {func(c *config.Config) { c.Policy.WritableRoots = []string{} }, nil, []string{"policy.writable_roots"}},
		"fewer protected":    {func(c *config.Config) { c.Policy.ProtectedPaths = []string{".codex"} }, []string{"policy.protected_paths"}, nil},
		"the order of these": {func(c *config.Config) { c.Policy.ProtectedPaths = []string{".codex", ".git"} }, nil, nil},
		"all models":         {func(c *config.Config) { c.Policy.Models = nil }, []string{"policy.models"}, nil},
		"a method allowed": {func(c *config.Config) {
			c.Policy.Methods = map[string]string{"fs/remove": "allow", "thread/archive": "ask"}
		}, []string{`policy.methods."fs/remove"`}, nil},
		"a method without rule": {func(c *config.Config) { c.Policy.Methods = nil }, []string{`policy.methods."fs/remove"`, `policy.methods."thread/archive"`}, nil},
		"remembering":           {func(c *config.Config) { c.Approvals.Remember = "always" }, []string{"approvals.remember"}, nil},
		"a hook that fails":     {func(c *config.Config) { c.Hooks.OnFailure = "allow" }, []string{"hooks.on_failure"}, nil},
		"a handler":             {func(c *config.Config) { c.Hooks.Handlers = nil }, []string{"hooks.handler"}, nil},
		"another approver": {func(c *config.Config) {
			c.Approvals.Desk.Groups = map[string]config.Group{"release": {Keys: []string{"ssh-ed25519 BB", "ssh-ed25519 CC"}}}
		}, []string{"approvals.desk.groups.release.keys"}, nil},
		"another group": {func(c *config.Config) {
			c.Approvals.Desk.Groups["interns"] = config.Group{Keys: []string{"ssh-ed25519 CC"}}
		}, nil, nil},
		"fewer keys of a runner": {func(c *config.Config) { c.Approvals.Desk.Runner = []string{"ssh-ed25519 DD"} }, []string{"approvals.desk.runner"}, nil},
	} {
		earlier, later := base(), base()
		test.change(later)
		if got := config.LooserKeys(earlier, later); !slices.Equal(got, test.looser) {
			t.Errorf("%s: %q", name, got)
		}
		if got := config.LooserKeys(later, earlier); test.looser == nil && !slices.Equal(got, test.back) {
			t.Errorf("without %s: %q", name, got)
		}
	}
}
