package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

func TestNotice(t *testing.T) {
	raw := func(text string) json.RawMessage {
		if text == "" {
			return nil
		}
		return json.RawMessage(text)
	}
	for name, test := range map[string]struct {
		field, rule, reason, from, to string
		want                          string
	}{
		"replaced":             {"params.approvalPolicy", "policy.approval", `"never" is not in policy.approval [untrusted]`, `"never"`, `"untrusted"`, `codex-bridge has changed approvalPolicy to untrusted: "never" is not in policy.approval [untrusted]. The setting is policy.approval in user f:3.`},
		"replaced by the gate": {"params.approvalPolicy", "policy.approval", "r; Codex is set to on-request; codex-bridge asks before each command", `"never"`, `"on-request"`, "codex-bridge asks before each command: r. The setting is policy.approval in user f:3."},
		"replaced by an object": {
			"params.sandboxPolicy", "policy.sandbox", "r.", `{"type":"dangerFullAccess"}`, `{"type":"readOnly"}`, "codex-bridge has changed sandboxPolicy: r. The setting is policy.sandbox in user f:3.",
		},
		// The value may have keys in it.
		"removed":           {"params.config.mcp_servers", "policy.config_keys", "r", `{"x":{"env":{"KEY":"secret"}}}`, "", "codex-bridge has removed config.mcp_servers: r. The setting is policy.config_keys in user f:3."},
		"a member":          {"params.config.mcp_servers.x.args", "policy.config_keys", "r", `[]`, "", "codex-bridge has removed config.mcp_servers.x: r. The setting is policy.config_keys in user f:3."},
		"a folder":          {"params.cwd", "policy.writable_roots", "r", `"/etc"`, "", "codex-bridge has removed cwd: r. The setting is policy.writable_roots in user f:3."},
		"a root of a turn":  {"params.sandboxPolicy.writableRoots", "policy.writable_roots", "r", `["/etc"]`, `[]`, "codex-bridge has changed sandboxPolicy.writableRoots: r. The setting is policy.writable_roots in user f:3."},
		"a canonical path":  {"params.cwd", "policy.writable_roots", "r", `"/code/x/.."`, `"/code"`, ""},
		"not sent":          {"params.approvalPolicy", "policy.approval", "r", "", `"untrusted"`, ""},
		"the profile":       {"params.sandbox", "policy.protected_paths", "r", `"workspace-write"`, "", ""},
		"an unknown field":  {"params.new", "policy.unknown_methods", "r", `1`, "", ""},
		"trust of projects": {"params.config.projects", "policy.project_trust", "r", `{}`, "", ""},
	} {
		c := policy.Change{Field: test.field, Rule: test.rule, Reason: test.reason, Origin: "user f:3", From: raw(test.from), To: raw(test.to)}
		kind, got := c.Notice()
		if got != test.want || (kind == "") != (test.want == "") || strings.Contains(got, "secret") {
			t.Errorf("%s: %q, %q, want %q", name, kind, got, test.want)
		}
	}
	for _, rule := range []string{"policy.writable_roots", "policy.project_trust"} {
		c := policy.Change{Field: "params.sandbox", Rule: rule, Reason: "r", To: raw(`"read-only"`), Narrows: true}
		if _, got := c.Notice(); got != "codex-bridge has changed sandbox to read-only: r. The setting is "+rule+"." {
			t.Errorf("%s: the notice of a narrower sandbox is %q", rule, got)
		}
	}
	long := policy.Change{Field: "params.config." + strings.Repeat("x", 1<<20), Rule: "policy.config_keys", From: raw("1")}
	if kind, text := long.Notice(); len(kind) > 300 || len(text) > 400 {
		t.Errorf("%d and %d bytes for a long name", len(kind), len(text))
	}
	one := policy.Change{Field: "params.environments[3].cwd", Rule: "policy.writable_roots", From: raw("1")}
	other := policy.Change{Field: "params.environments[4].cwd", Rule: "policy.writable_roots", From: raw("1")}
	a, _ := one.Notice()
	b, text := other.Notice()
	if a != b || !strings.HasSuffix(text, "The setting is policy.writable_roots.") {
		t.Errorf("kinds %q and %q, %q", a, b, text)
	}
}

// The user learns that a thread is read-only because of its folder, also if the client names no sandbox.
func TestForbiddenFolderNarrows(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"/srv"}
	for _, sandbox := range []string{"", `,"sandbox":"workspace-write"`} {
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"`+sandbox+`}}`), state())
		told := slices.ContainsFunc(d.Changes, func(c policy.Change) bool { return c.Field == "params.sandbox" && c.Narrows })
		if !told || d.Err != nil {
			t.Errorf("with %q: %+v, error %v", sandbox, d.Changes, d.Err)
		}
	}
}

// The user learns that the bridge removes a workspace root that is in no other one.
func TestRemovedRootNarrows(t *testing.T) {
	for members, removed := range map[string]string{
		`"runtimeWorkspaceRoots":["/code/proj","/etc/x"]`:                                                               "/etc/x",
		`"runtimeWorkspaceRoots":["/code/proj","/code/proj/loop"]`:                                                      "can't be resolved",
		`"runtimeWorkspaceRoots":["/code/proj","/code/proj/docs"]`:                                                      "",
		`"runtimeWorkspaceRoots":["/code/proj","/code/proj/docs/.."]`:                                                   "",
		`"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/etc/x"]}]`: "/etc/x",
	} {
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj",`+members+`}}`), state())
		var told string
		for _, c := range d.Changes {
			if _, text := c.Notice(); c.Rule == "policy.writable_roots" {
				told += text
			}
		}
		if d.Err != nil || strings.HasPrefix(told, "codex-bridge has removed workspace roots: ") != (removed != "") || !strings.Contains(told, removed) {
			t.Errorf("%s: the user reads %q, %v", members, told, d.Err)
		}
	}
}
