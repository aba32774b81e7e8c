package policy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

var approvalForms = []string{
	`"untrusted"`, `"on-request"`, `"never"`,
	`{"granular":{"sandbox_approval":true,"rules":true,"mcp_elicitations":true,"skill_approval":true,"request_permissions":true}}`,
	`{"granular":{"sandbox_approval":true,"rules":true,"mcp_elicitations":false}}`,
	`{"granular":{"sandbox_approval":true,"rules":false,"mcp_elicitations":true}}`,
	`{"granular":{"sandbox_approval":false,"rules":true,"mcp_elicitations":true,"skill_approval":true}}`,
	reducedApproval,
}

func decoded(t *rapid.T, text string) (v any) {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func encoded(t *rapid.T, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func sample[T any](t *rapid.T, label string, choices ...T) T {
	return rapid.SampledFrom(choices).Draw(t, label)
}

// maybe draws a member of params; it is often absent.
func maybe[T any](t *rapid.T, params map[string]any, key string, choices ...T) {
	if rapid.IntRange(0, 2).Draw(t, key+"?") == 0 {
		params[key] = sample(t, key, choices...)
	}
}

// drawAlone draws a user's configuration. Codex refuses to start with approval_policy = "untrusted".
func drawAlone(t *rapid.T) codexAlone {
	c := codexAlone{
		sandbox:  sample(t, "sandbox_mode", "", "", "read-only", "workspace-write", "danger-full-access"),
		network:  rapid.Bool().Draw(t, "network_access"),
		noTmpdir: rapid.Bool().Draw(t, "exclude_tmpdir_env_var"), noSlashTmp: rapid.Bool().Draw(t, "exclude_slash_tmp"),
		roots:    sample(t, "writable_roots", nil, nil, []string{"/srv/out"}, []string{"/srv/out", "/home/ada/keys"}, []string{"/code/proj/docs"}),
		trust:    sample(t, "trust_level", "", "trusted", "untrusted"),
		reviewer: sample(t, "approvals_reviewer", "", "user", "auto_review"),
		approval: decoded(t, sample(t, "approval_policy", append([]string{"", ""}, approvalForms[1:]...)...)),
	}
	if rapid.IntRange(0, 3).Draw(t, "lax configuration") == 0 {
		c.sandbox, c.approval = "danger-full-access", "never"
	}
	if c.sandbox == "" {
		c.permissions = sample(t, "default_permissions", "", "mine", "mine", ":workspace", ":read-only", ":danger-full-access")
	}
	if rapid.Bool().Draw(t, "profiles") || c.permissions == "mine" {
		c.table = drawTable(t)
		for _, one := range c.table {
			if one.Filesystem[":root"] == "deny" { // no command starts
				delete(one.Filesystem, ":root")
			}
		}
		if c.table.startsNothing("mine") {
			c.table = permissionTable{"mine": {Extends: ":workspace", Filesystem: map[string]any{"/home/ada/keys": "deny"}}}
		}
		if one := c.table["mine"]; rapid.Bool().Draw(t, "network of the profile") {
			one.Network = map[string]any{"enabled": rapid.Bool().Draw(t, "enabled"), "domains": map[string]any{"bad.example": "deny"}}
			c.table["mine"] = one
		}
	}
	return c
}

// drawFlags draws what a client puts on Codex's command line.
func drawFlags(t *rapid.T) (f codexFlags) {
	drawn := map[string]any{}
	maybe(t, drawn, "-c approval_policy", "on-request", "never")
	maybe(t, drawn, "-c sandbox_mode", "read-only", "workspace-write", "danger-full-access")
	maybe(t, drawn, "-c default_permissions", ":read-only", ":workspace", ":danger-full-access")
	maybe(t, drawn, "-c approvals_reviewer", "user", "auto_review")
	f.approval = drawn["-c approval_policy"]
	f.sandbox, _ = drawn["-c sandbox_mode"].(string)
	f.permissions, _ = drawn["-c default_permissions"].(string)
	f.reviewer, _ = drawn["-c approvals_reviewer"].(string)
	return f
}

// values returns the flags that are there, by their keys.
func (f codexFlags) values() map[string]string {
	all := map[string]string{"sandbox_mode": f.sandbox, "default_permissions": f.permissions, "approvals_reviewer": f.reviewer}
	all["approval_policy"], _ = f.approval.(string)
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}

// under returns the flags that Codex gets behind the bridge. ok is false if the bridge does not start.
func (f codexFlags) under(p *policy.Policy) (kept codexFlags, ok bool) {
	args := []string{"app-server"}
	for key, v := range f.values() {
		args = append(args, fmt.Sprintf("--config=%s=%q", key, v))
	}
	d := p.DecideArgs(args, 0)
	has := func(key, v string) bool { return slices.Contains(d.Args, fmt.Sprintf("--config=%s=%q", key, v)) }
	for key, v := range f.values() {
		switch {
		case !has(key, v):
		case key == "approval_policy":
			kept.approval = v
		case key == "sandbox_mode":
			kept.sandbox = v
		case key == "default_permissions":
			kept.permissions = v
		default:
			kept.reviewer = v
		}
	}
	return kept, d.Verdict != policy.Deny
}

// startsNothing reports whether the profile has an entry in a folder that it denies. Codex then starts no
// command.
func (p permissionTable) startsNothing(name string) bool {
	entries := p.entriesOf(name)
	for outer, access := range entries {
		for inner, other := range entries {
			if access == "deny" && other != "deny" && outer != inner && policy.Within(outer, inner) {
				return true
			}
		}
	}
	return false
}

// defaults returns the configuration as config/read does.
func (c codexAlone) defaults(t *rapid.T) *policy.Defaults {
	own, flags := map[string]any{}, map[string]any{}
	if c.trust != "" {
		own["projects"] = map[string]any{"/code/proj": map[string]any{"trust_level": c.trust}}
	}
	own["sandbox_workspace_write"] = map[string]any{
		"network_access": c.network, "writable_roots": append([]string{}, c.roots...), "exclude_tmpdir_env_var": c.noTmpdir, "exclude_slash_tmp": c.noSlashTmp,
	}
	for key, v := range map[string]string{"sandbox_mode": c.sandbox, "default_permissions": c.permissions, "approvals_reviewer": c.reviewer} {
		if v != "" {
			own[key] = v
		}
	}
	if c.approval != nil {
		own["approval_policy"] = c.approval
	}
	if c.table != nil {
		own["permissions"] = c.table
	}
	for key, v := range c.flags.values() {
		flags[key] = v
	}
	all := maps.Clone(own)
	maps.Copy(all, flags)
	return parseDefaults(t, encoded(t, map[string]any{"config": all, "layers": []any{
		map[string]any{"name": map[string]any{"type": "sessionFlags"}, "config": flags},
		map[string]any{"name": map[string]any{"type": "user", "file": "/home/ada/.codex/config.toml"}, "config": own},
	}}))
}

func drawLimits(t *rapid.T) config.Policy {
	cfg := contract()
	cfg.Approval = sample(t, "approval", []string{"untrusted", "on-request"}, []string{"untrusted"}, []string{"on-request"}, []string{"on-request", "untrusted"},
		[]string{"on-request", "never"}, []string{"never"}, []string{"never", "untrusted"}, []string{"on-request", "granular"}, []string{"untrusted", "granular"},
		[]string{"never", "granular", "untrusted", "on-request"})
	cfg.Gate = rapid.Bool().Draw(t, "gate")
	cfg.Sandbox = sample(t, "sandbox", "read-only", "workspace-write", "danger-full-access")
	if rapid.IntRange(0, 3).Draw(t, "lax policy") == 0 {
		cfg.Approval, cfg.Sandbox = sample(t, "lax approval", []string{"on-request", "never"}, []string{"never"}, []string{"never", "on-request"}), "danger-full-access"
	}
	cfg.Network = rapid.Bool().Draw(t, "network")
	cfg.Reviewers = sample(t, "reviewers", []string{"user"}, []string{"auto_review", "user"})
	cfg.ProjectTrust = sample(t, "project_trust", "never", "user", "codex")
	cfg.WritableRoots = sample(t, "roots", []string{"${workspace}"}, []string{"${workspace}", "/srv/out"})
	if rapid.Bool().Draw(t, "protected") {
		cfg.ProtectedPaths = []string{".vscode"}
	}
	return cfg
}

// drawOpening draws the params of a request that opens a thread.
func (c codexAlone) drawOpening(t *rapid.T, method string) map[string]any {
	params := map[string]any{}
	if method != "thread/start" {
		params["threadId"] = "T"
	} else if rapid.IntRange(0, 2).Draw(t, "cwd?") > 0 {
		params["cwd"] = "/code/proj"
	}
	drawFolders(t, params, method)
	maybe(t, params, "approvalPolicy", decodedForms(t)...)
	maybe(t, params, "approvalsReviewer", "user", "auto_review")
	maybe(t, params, sample(t, "sandbox or permissions", "sandbox", "permissions"), "")
	for key, choices := range map[string][]string{
		"sandbox": {"read-only", "workspace-write", "danger-full-access"}, "permissions": c.profiles(),
	} {
		if params[key] != nil {
			params[key] = sample(t, key, choices...)
		}
	}
	overlay := map[string]any{}
	maybe(t, overlay, "approval_policy", decodedForms(t)...)
	maybe(t, overlay, "sandbox_mode", "read-only", "workspace-write", "danger-full-access")
	maybe(t, overlay, "default_permissions", ":read-only", ":workspace", ":danger-full-access")
	maybe(t, overlay, "sandbox_workspace_write.network_access", true, false)
	maybe(t, overlay, "sandbox_workspace_write.exclude_slash_tmp", true, false)
	maybe(t, overlay, "sandbox_workspace_write.writable_roots", []any{}, []any{"/srv/out"}, []any{"/code/proj/docs"})
	maybe(t, overlay, "approvals_reviewer", "user", "auto_review")
	switch {
	case c.flags.permissions != "" && rapid.Bool().Draw(t, "overlay beside the flag"):
		overlay["sandbox_mode"] = "workspace-write"
		delete(overlay, "default_permissions")
		delete(params, "sandbox")
		delete(params, "permissions")
		params["config"] = overlay
	case len(overlay) > 0 && rapid.Bool().Draw(t, "overlay"):
		params["config"] = overlay
	}
	return params
}

// profiles returns the profiles that a request can name.
func (c codexAlone) profiles() []string {
	names := []string{":read-only", ":workspace", ":danger-full-access"}
	if c.table != nil {
		names = append(names, "mine")
	}
	return names
}

func decodedForms(t *rapid.T) (all []any) {
	for _, text := range approvalForms {
		all = append(all, decoded(t, text))
	}
	return all
}

// drawFolders draws the folders that a request names, often a narrower one.
func drawFolders(t *rapid.T, params map[string]any, method string) {
	if method != "thread/start" { // an opened thread without a cwd is in none that Codex stores as trusted
		maybe(t, params, "cwd", "/code/proj", "/code/proj/docs", "/srv/out")
	}
	roots := []any{[]any{"/code/proj"}, []any{"/code/proj/docs"}, []any{"/code/proj", "/code/proj/docs"}, []any{"/srv/out"}, []any{"/home/ada/keys"}}
	if method != "thread/settings/update" {
		maybe(t, params, "runtimeWorkspaceRoots", roots...)
	}
	if method == "thread/resume" || method == "thread/fork" || rapid.IntRange(0, 3).Draw(t, "environment?") > 0 {
		return
	}
	environment := map[string]any{
		"environmentId": sample(t, "environment", "local", "local", "nosuch"), "cwd": sample(t, "cwd of the environment", "/code/proj", "/code/proj/docs"),
	}
	maybe(t, environment, "runtimeWorkspaceRoots", roots...)
	delete(params, "cwd") // of two cwds it is not measured which counts
	delete(params, "runtimeWorkspaceRoots")
	params["environments"] = []any{environment}
}

// drawTurn draws the params of a turn, or of a change of settings.
func (c codexAlone) drawTurn(t *rapid.T, method string) map[string]any {
	params := map[string]any{"threadId": "T"}
	drawFolders(t, params, method)
	maybe(t, params, "approvalPolicy", decodedForms(t)...)
	maybe(t, params, "approvalsReviewer", "user", "auto_review")
	if rapid.Bool().Draw(t, "by permissions") {
		maybe(t, params, "permissions", c.profiles()...)
		return params
	}
	maybe(t, params, "sandboxPolicy", map[string]any{"type": "readOnly"}, map[string]any{"type": "readOnly", "networkAccess": true},
		map[string]any{"type": "workspaceWrite"}, map[string]any{"type": "workspaceWrite", "networkAccess": true, "writableRoots": []any{"/srv/out"}},
		map[string]any{"type": "workspaceWrite", "writableRoots": []any{"/code/proj/docs"}},
		map[string]any{"type": "workspaceWrite", "excludeSlashTmp": true, "excludeTmpdirEnvVar": true}, map[string]any{"type": "dangerFullAccess"})
	return params
}
