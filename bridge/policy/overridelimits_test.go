package policy_test

import (
	"cmp"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// TestSettingsOfCodeMode checks that the settings with which a client enables the code mode may be lost, and no others.
func TestSettingsOfCodeMode(t *testing.T) {
	p := argsPolicy(t, "config_keys = []")
	for overlay, refused := range map[string]bool{
		`{"features.code_mode":{"enabled":true,"direct_only_tool_namespaces":["x"]}}`: false,
		`{"features":{"code_mode":{"direct_only_tool_namespaces":[]}}}`:               false,
		`{"features.code_mode":{"enabled":false}}`:                                    true,
		`{"features.code_mode":{"enabled":true,"limit":1}}`:                           true,
		`{"features.code_mode.direct_only_tool_namespaces.x":1}`:                      true,
	} {
		d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"config":`+overlay+`}}`), state())
		if (d.Err != nil) != refused || !refused && strings.Contains(string(d.Message), "code_mode") {
			t.Errorf("%s: %s, error %v", overlay, d.Message, d.Err)
		}
	}
}

// TestForbiddenOverridesAreNotLost checks keys that never pass: what could limit the thread refuses the
// request, and what only adds is removed.
func TestForbiddenOverridesAreNotLost(t *testing.T) {
	cfg := contract()
	cfg.ConfigKeys = []string{"**"}
	for overlay, refused := range map[string]bool{
		`{"projects":{"/x":{"trust_level":"trusted"}}}`:             false,
		`{"projects./x.trust_level":"trusted"}`:                     false,
		`{"projects":{"/x":{"trust_level":"untrusted"}}}`:           true,
		`{"projects":{"/y":{},"/x":{"trust_level":"untrusted"}}}`:   true,
		`{"projects./x.trust_level":"untrusted"}`:                   true,
		`{"projects":{"/x":{"other":"trusted"}}}`:                   true,
		`{"sandbox_workspace_write.writable_roots":"out"}`:          true,
		`{"hooks.PreToolUse":[],"hooks":{"state":{"a":1}}}`:         false,
		`{"hooks.state.a.enabled":false}`:                           false,
		`{"hooks.PreToolUse":[{"hooks":[]}]}`:                       true,
		`{"hooks":{"PreToolUse":[{"hooks":[]}]}}`:                   true,
		`{"features.hooks":false,"features":{"codex_hooks":false}}`: false,
		`{"bypass_hook_trust":true}`:                                false,
		`{"profiles":{"strict":{"sandbox_mode":"read-only"}}}`:      false, // no effect
		`{"profile":"strict"}`:                                      true,
		`{"sandbox_mode":null}`:                                     true, // Codex refuses it
		`{"sandbox_mode":"strict"}`:                                 true,
		`{"Sandbox_Mode":"strict"}`:                                 false, // Codex ignores it
		`{"approval_policy":null}`:                                  true,
		`{"approval_policy":"on-request"}`:                          false,
		`{"approval_policy.granular.sandbox_approval":false}`:       true,
		`{"default_permissions":"mine"}`:                            true,
		`{"permissions":{"mine":{"filesystem":{"/x":"deny"}}}}`:     true,
		`{"permissions.mine.extends":":read-only"}`:                 true,
		`{"plugins":{"a@b":{"enabled":false}}}`:                     true,
		`{"plugins.a@b.enabled":true}`:                              false,
		`{"features.plugins":false}`:                                false,
		`{"sandbox_workspace_write":{"network_access":"no"}}`:       true,
		`{"sandbox_workspace_write":{"network_access":true}}`:       false,
		`{"sandbox_workspace_write.writable_roots":["out"]}`:        false, // counts as none
	} {
		for _, protected := range [][]string{nil, {".vscode"}} {
			cfg.ProtectedPaths = protected
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","config":`+overlay+`}}`), state())
			if (d.Err != nil) != refused {
				t.Errorf("%s beside protected paths %q: %s, error %v", overlay, protected, d.Message, d.Err)
			}
		}
	}
}

// TestLimitsOfToolsAreNotLost checks limits of tools that no pattern in policy.config_keys allows.
func TestLimitsOfToolsAreNotLost(t *testing.T) {
	for overlay, refused := range map[string]bool{
		`{"mcp_servers":{"x":{"enabled":false}}}`:                                     false, // passes
		`{"mcp_servers.x.default_tools_approval_mode":"prompt"}`:                      false, // passes
		`{"mcp_servers.x.default_tools_approval_mode":"auto"}`:                        true,
		`{"features.code_mode":{"enabled":true,"direct_only_tool_namespaces":["x"]}}`: false,
		`{"features.network_proxy":{"enabled":true}}`:                                 true,
		`{"mcp_servers":{"x":{"tools":{"t":{"approval_mode":"auto"}}}}}`:              true,
		`{"mcp_servers.x.disabled_tools":["t"]}`:                                      true,
		`{"mcp_servers":{"x":{"command":"sh","enabled":true}}}`:                       false,
		`{"apps":{"x":{"destructive_enabled":false}}}`:                                true,
		`{"apps.x.tools.t.approval_mode":"approve"}`:                                  false,
		`{"web_search":"cached"}`:                                                     false,
		`{"features":{"shell_snapshot":false,"context_management":false}}`:            false,
		`{"features.later":false}`:                                                    true,
		`{"web_search":"live"}`:                                                       false,
		`{"tools":{"web_search":{"allowed_domains":["a.example"]}}}`:                  true,
		`{"features.collab":false}`:                                                   true, // the old name of multi_agent
		`{"features":{"network_proxy":true}}`:                                         true,
	} {
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"config":`+overlay+`}}`), state())
		if (d.Err != nil) != refused {
			t.Errorf("%s: %s, error %v", overlay, d.Message, d.Err)
		}
	}
}

// TestLimitsInOtherForms checks limits that no row of the table names by itself, where policy.config_keys allows none.
func TestLimitsInOtherForms(t *testing.T) {
	cfg := contract()
	cfg.ConfigKeys = nil
	for overlay, refused := range map[string]bool{
		`{"features.code_mode":{"enabled":true,"direct_only_tool_namespaces":["x"]}}`: false,
		`{"features.code_mode":{"enabled":false}}`:                                    true,
		`{"features.code_mode":{"direct_only_tool_namespaces":["x"],"other":true}}`:   true,
		`{"sandbox_mode":{"x":"workspace-write"}}`:                                    true,
		`{"features.goals.x":true}`:                                                   true,
		`{"features.goals":true}`:                                                     false,
	} {
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"config":`+overlay+`}}`), state())
		if (d.Err != nil) != refused {
			t.Errorf("%s: %s, error %v", overlay, d.Message, d.Err)
		}
	}
	d := argsPolicy(t, "config_keys = []").DecideArgs([]string{"-c", "approval_policy.granular.rules=false", "app-server"}, 0)
	if d.Err == nil || d.Err.Rule != "policy.approval" || !strings.Contains(d.Err.Hint, "approvalPolicy with each thread") {
		t.Errorf("a part of the approval policy: %+v", d)
	}
}

// TestLimitsOfServersOfOverlay checks the limits beside the definition of an MCP server. They go with the definition,
// unless Codex's configuration has the server, or the policy allows the definition: then they pass or are not lost.
func TestLimitsOfServersOfOverlay(t *testing.T) {
	const known, unknown = `"config":{"mcp_servers":{"x":{}}}`, `"config":{"mcp_servers":{"y":{}}}`
	const off, only, passes = `"enabled":false`, `"enabled_tools":["a"]`, `"mcp_servers.x.enabled":false`
	for _, c := range []struct {
		keys, config, limit, want string // want: in what Codex gets; "": no config; "refused"
	}{
		{"", unknown, off, ""}, {"", unknown, only, ""},
		{"", known, off, passes}, {"", known, only, "refused"},
		{"mcp_servers.*.command", unknown, only, "refused"}, {"mcp_servers.*.url", unknown, only, "refused"},
		{"mcp_servers.*.command", unknown, off, off[1:]}, {"mcp_servers.*.env", unknown, off, ""},
	} {
		transport := "command"
		if strings.HasSuffix(c.keys, "url") {
			transport = "url"
		}
		cfg := contract()
		if cfg.ConfigKeys, cfg.ProjectTrust = nil, "codex"; c.keys != "" {
			cfg.ConfigKeys = []string{c.keys}
		}
		nested, dotted := `{"`+transport+`":"x",`+c.limit+`}`, strings.Replace(c.limit, `"`, `"mcp_servers.x.`, 1)
		for _, overlay := range []string{`{"mcp_servers":{"x":` + nested + `}}`, `{"mcp_servers.x":` + nested + `}`, `{"mcp_servers.x.` + transport + `":"x",` + dotted + `}`} {
			st := withoutThread(state())
			st.Defaults = nil
			m := message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":"read-only","config":`+overlay+`}}`)
			if d := compile(t, cfg).Decide(m, st); c.keys == "" && d.Want != policy.WantConfiguration {
				t.Errorf("%s: decided without Codex's configuration", overlay)
			}
			var err error
			if st.Defaults, err = policy.ParseDefaults(value(t, "{"+c.config+"}")); err != nil {
				t.Fatal(err)
			}
			d := compile(t, cfg).Decide(m, st)
			has := strings.Contains(string(d.Message), cmp.Or(c.want, `"mcp_servers`)) == (c.want != "")
			if refused := c.want == "refused"; refused != (d.Err != nil) || !refused && !has {
				t.Errorf("%s, keys %q, %s: %s, error %v", overlay, c.keys, c.config, d.Message, d.Err)
			}
		}
	}
	p := argsPolicy(t, "config_keys = []") // what Codex's configuration has is not known
	for value, want := range map[string]policy.Verdict{`{command="sh",enabled=false}`: policy.Deny, `{command="sh",enabled=true}`: policy.Rewrite} {
		if d := p.DecideArgs([]string{"-c", "mcp_servers.x=" + value, "app-server"}, 0); d.Verdict != want {
			t.Errorf("-c mcp_servers.x=%s: %+v", value, d)
		}
	}
}
