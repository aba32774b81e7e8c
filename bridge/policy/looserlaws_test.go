package policy_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// exceedsAlone returns what a thread with the settings may do that one with those of alone may not; "" for
// nothing. A client that answers about commands can let each of them leave the sandbox, so there other
// kinds of questions add nothing.
func (t threadSettings) exceedsAlone(alone threadSettings) string {
	inside, outside, rule, others := t.outcomes()
	insideAlone, outsideAlone, ruleAlone, othersAlone := alone.outcomes()
	switch {
	case inside > insideAlone:
		return "commands in the sandbox"
	case outside > outsideAlone:
		return "commands outside the sandbox"
	case rule > ruleAlone:
		return "commands that a rule asks about"
	case t.reviewer != "user" && alone.reviewer == "user":
		return "the reviewer " + t.reviewer
	case t.hasNetwork() && !alone.hasNetwork():
		return "the network"
	case t.hasNetwork() && alone.limits != nil && !alone.danger && !reflect.DeepEqual(t.limits, alone.limits):
		return fmt.Sprintf("the network with %v", t.limits)
	}
	for kind, outcome := range others {
		if outcome > othersAlone[kind] && (outsideAlone == refused || outcome == allowed) {
			return kind
		}
	}
	for _, path := range lawFolders {
		if at := t.access(path); slices.Index(accessOrder, at) > slices.Index(accessOrder, alone.access(path)) {
			return at + " " + path
		}
	}
	return ""
}

func (t threadSettings) hasNetwork() bool { return t.danger || t.network }

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
		roots:    sample(t, "writable_roots", nil, nil, []string{"/srv/out"}, []string{"/srv/out", "/home/ada/keys"}),
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
	doc, err := rpc.ParseValue(encoded(t, map[string]any{"config": all, "layers": []any{
		map[string]any{"name": map[string]any{"type": "sessionFlags"}, "config": flags},
		map[string]any{"name": map[string]any{"type": "user", "file": "/home/ada/.codex/config.toml"}, "config": own},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	d, err := policy.ParseDefaults(doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	return d
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
	maybe(t, overlay, "sandbox_workspace_write.writable_roots", []any{}, []any{"/srv/out"})
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
		map[string]any{"type": "workspaceWrite", "excludeSlashTmp": true, "excludeTmpdirEnvVar": true}, map[string]any{"type": "dangerFullAccess"})
	return params
}

// played is a thread as it is with Codex alone and behind the bridge.
type played struct {
	t *rapid.T
	// codex is the configuration of Codex behind the bridge, and without that of Codex alone. They differ in the
	// trust that Codex stores.
	codex, without codexAlone
	cfg            config.Policy
	p              *policy.Policy
	alone, bridge  threadSettings
	thread         *policy.Thread // nil: the bridge does not know it
	known          string         // recorded of the thread; see State.KnownFolder
	recorded       bool           // the state has a record of the thread
	started        bool           // the bridge accepts the command line
	opened         string         // the folder in which the thread was opened
	log            []string
}

func play(t *rapid.T) *played {
	w := &played{t: t, codex: drawAlone(t)}
	w.codex.flags = drawFlags(t)
	w.without = w.codex
	w.drawPolicy()
	return w
}

// drawPolicy draws another policy. From enforce to audit a thread loses the bridge's questions, as without the
// bridge; so audit comes only first.
func (w *played) drawPolicy() {
	enforced := w.cfg.Mode == config.Enforce
	w.started = true
	// A thread that got never in place of another approval policy keeps it. It belongs to a policy without full
	// access, and a later one is as strict.
	putsNever := enforced && w.cfg.Approval[0] == "never" && w.cfg.Sandbox != "danger-full-access"
	if w.cfg = drawLimits(w.t); putsNever && w.cfg.Sandbox == "danger-full-access" {
		w.cfg.Sandbox = "workspace-write"
	}
	if !enforced && rapid.IntRange(0, 4).Draw(w.t, "audit") == 0 {
		w.cfg.Mode = config.Audit
	}
	w.p = compile(w.t, w.cfg)
	w.codex.flags = w.without.flags
	if w.cfg.Mode == config.Enforce {
		w.codex.flags, w.started = w.without.flags.under(w.p)
	}
}

// decide returns what Codex gets in place of a request; ok is false if the bridge refuses it.
func (w *played) decide(method string, params map[string]any, st policy.State) (sent map[string]any, d policy.Decision, ok bool) {
	line := encoded(w.t, map[string]any{"id": 1, "method": method, "params": params})
	m, err := rpc.ParseMessage(line)
	if err != nil {
		w.t.Fatal(err)
	}
	st.Defaults = w.codex.defaults(w.t)
	if d = w.p.Decide(m, st); d.NeedsDefaults {
		st.Defaults.Cwd = d.ConfigCwd
		d = w.p.Decide(m, st)
	}
	w.log = append(w.log, string(line), string(d.Message))
	if w.cfg.Mode == config.Audit { // Codex gets the client's message
		gated := false
		if d.Gated = &gated; d.Sent != nil {
			d.Sent.Gated = &gated
		}
		return params, d, true
	}
	if d.Err != nil {
		return nil, d, false
	}
	var got struct{ Params map[string]any }
	if err := json.Unmarshal(d.Message, &got); err != nil {
		w.t.Fatal(err)
	}
	return got.Params, d, true
}

// check compares both sides.
func (w *played) check() {
	if what := w.bridge.exceedsAlone(w.alone); what != "" {
		w.t.Fatalf("more is allowed than with Codex alone: %s\nconfiguration %+v\npolicy %+v\nalone %+v\nbridge %+v\n%s", what, w.codex, w.cfg, w.alone, w.bridge, strings.Join(w.log, "\n"))
	}
}

// checkEnvironments checks that the bridge refuses an environment that Codex alone does not have.
func (w *played) checkEnvironments(params map[string]any) {
	if w.cfg.Mode == config.Enforce && !knowsEnvironments(params) {
		w.t.Fatalf("a request with an unknown environment passes\n%s", strings.Join(w.log, "\n"))
	}
}

// open plays a request that opens a thread. It returns false if the thread takes no turn.
func (w *played) open(method string, params map[string]any, restored *threadSettings, st policy.State) bool {
	var storedAlone *threadSettings
	if restored != nil {
		copied := w.alone
		storedAlone = &copied
	}
	sent, d, ok := w.decide(method, params, st)
	if !ok {
		return false
	}
	w.checkEnvironments(params)
	w.alone, w.bridge = w.without.open(method, params, storedAlone), w.codex.open(method, sent, restored)
	if method == "thread/start" {
		w.without, w.codex = w.without.afterStart(params, w.alone), w.codex.afterStart(sent, w.bridge)
	}
	w.bridge.gated = d.Gated != nil && *d.Gated || d.Gated == nil && st.Thread != nil && st.Thread.Gated
	result, err := rpc.ParseValue(encoded(w.t, w.bridge.response()))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.cfg.Mode == config.Enforce && w.p.Verify(d.Sent, result.Root(), st) != nil {
		return false
	}
	w.check()
	if w.thread, err = policy.NewThread(d.Sent, result.Root(), st); err != nil {
		return false
	}
	if method != "thread/resume" {
		w.opened = w.bridge.cwd
	}
	w.recorded = w.cfg.Mode == config.Enforce || w.recorded && method == "thread/resume"
	w.known = w.thread.KnownFolder
	return true
}

// resumeLoaded plays a resume of a thread that Codex has in memory: it ignores the request's settings. It returns
// false if the thread takes no turn.
func (w *played) resumeLoaded(params map[string]any) bool {
	st, profile := state(), w.thread.Profile
	st.Thread, st.LoadedProfile, st.NotLoaded, st.KnownFolder = w.thread, &profile, false, w.known
	_, d, ok := w.decide("thread/resume", params, st)
	if !ok || d.Sent == nil {
		return false
	}
	d.Sent.Loaded = true
	if d.Sent.Gated != nil && !*d.Sent.Gated { // package guard keeps the gate of a loaded thread
		d.Sent.Gated = nil
	}
	w.bridge.gated = w.thread.Gated || d.Sent.Gated != nil
	result, err := rpc.ParseValue(encoded(w.t, w.bridge.response()))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.cfg.Mode == config.Enforce && w.p.Verify(d.Sent, result.Root(), st) != nil {
		return false
	}
	w.check()
	thread, err := policy.NewThread(d.Sent, result.Root(), st)
	if err != nil {
		return false
	}
	thread.Gated = w.bridge.gated
	w.thread, w.known = thread, cmp.Or(w.known, thread.KnownFolder)
	return true
}

// response is Codex's response to a request that opened the thread.
func (t threadSettings) response() map[string]any {
	var profile any
	if t.profile != modeProfile {
		profile = map[string]any{"id": t.profile, "extends": nullable(t.table[t.profile].Extends)}
	}
	return map[string]any{
		"thread": map[string]any{"id": "T"}, "approvalPolicy": t.approval, "approvalsReviewer": t.reviewer, "cwd": t.cwd, "runtimeWorkspaceRoots": t.roots, "model": "gpt-5.5",
		"activePermissionProfile": profile,
		"sandbox": map[string]any{
			"type":          map[string]string{"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess"}[t.level()],
			"writableRoots": t.writableRoots(), "networkAccess": t.network, "excludeTmpdirEnvVar": t.noTmpdir, "excludeSlashTmp": t.noSlashTmp,
		},
	}
}

// writableRoots returns the folders that Codex lists as writable, without the workspace and temporary folders.
func (t threadSettings) writableRoots() []string {
	roots := []string{}
	for path, access := range t.table.entriesWith(t.profile, t.writableFolders()) {
		if access == "write" && !slices.Contains([]string{"/", t.cwd, "/tmp", "/var/tmp/t"}, path) {
			roots = append(roots, path)
		}
	}
	slices.Sort(roots)
	return roots
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// level returns the mode in which Codex shows the sandbox.
func (t threadSettings) level() string {
	switch {
	case t.danger:
		return "danger-full-access"
	case slices.ContainsFunc(lawFolders, func(path string) bool { return t.access(path) == "write" }):
		return "workspace-write"
	}
	return "read-only"
}

// restart returns what the bridge knows about a thread after a restart, from Codex's file.
func (w *played) restart() policy.State {
	st, t := state(), w.bridge
	st.Thread, st.ThreadFolder = nil, t.cwd
	if t.cwd != w.opened {
		st.OpenedIn = w.opened
	}
	st.StoredSandbox = &policy.SandboxSettings{Mode: t.level(), Network: t.network, NoTmpdir: t.noTmpdir, NoSlashTmp: t.noSlashTmp}
	if t.profile != modeProfile {
		st.StoredSandbox.Profile = t.profile
	}
	st.StoredApproval = encoded(w.t, t.approval)
	// Without a record, a policy under which no client could choose these questions does not ask them.
	asks := w.cfg.Gate && (slices.Contains(w.cfg.Approval, "untrusted") || slices.Contains(w.cfg.Approval, "on-request"))
	if w.recorded && (t.gated && !asks || rapid.IntRange(0, 3).Draw(w.t, "lost record") > 0) {
		gated := t.gated
		st.StoredGate, st.KnownFolder = &gated, w.known
	}
	st.Stored = &policy.StoredProfile{ReadsRoot: t.access("/") != "deny"}
	if t.profile != modeProfile {
		st.Stored.Name = t.profile
	}
	if !t.danger {
		for path, access := range t.table.entriesWith(t.profile, t.writableFolders()) {
			switch access {
			case "deny":
				st.Stored.Denied = append(st.Stored.Denied, filepath.Clean(path))
			case "read":
				st.Stored.Read = append(st.Stored.Read, filepath.Clean(path))
			case "write":
				st.Stored.Written = append(st.Stored.Written, filepath.Clean(path))
			}
		}
	}
	for _, paths := range [][]string{st.Stored.Denied, st.Stored.Read, st.Stored.Written} {
		slices.Sort(paths)
	}
	return st
}

// TestNothingIsLoosened plays threads that are started, take turns, and are resumed or forked, in memory, or after
// a restart of the bridge and under another policy, for each configuration of Codex and each policy: of commands, questions, files
// and the network, never more is allowed than with Codex alone and the same requests.
func TestNothingIsLoosened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := play(t)
		if !w.started {
			return
		}
		if rapid.IntRange(0, 3).Draw(t, "started by Codex alone") == 0 {
			params := w.codex.drawOpening(t, "thread/start")
			w.alone = w.without.open("thread/start", params, nil)
			w.bridge, w.without = w.alone, w.without.afterStart(params, w.alone)
			w.codex.trust, w.opened = w.without.trust, w.alone.cwd
		} else if st := state(); !w.open("thread/start", w.codex.drawOpening(t, "thread/start"), nil, withoutThread(st)) {
			return
		}
		for range rapid.IntRange(0, 3).Draw(t, "requests") {
			if w.thread == nil || rapid.IntRange(0, 2).Draw(t, "restart") == 0 {
				w.thread = nil
				if w.drawPolicy(); !w.started {
					return
				}
				stored := w.bridge
				method := sample(t, "method", "thread/resume", "thread/fork")
				params := w.codex.drawOpening(t, method)
				if rapid.IntRange(0, 2).Draw(t, "elsewhere") == 0 {
					params["cwd"] = "/code/proj"
					w.move()
				}
				st := w.restart()
				if params["cwd"] != nil {
					st.OpenedIn = ""
				}
				if !w.open(method, params, &stored, st) {
					return
				}
				continue
			}
			if rapid.IntRange(0, 4).Draw(t, "fork in memory") == 0 {
				st, stored := w.restart(), w.bridge
				st.Thread, st.OpenedIn = w.thread, ""
				if !w.open("thread/fork", w.codex.drawOpening(t, "thread/fork"), &stored, st) {
					return
				}
				continue
			}
			if rapid.IntRange(0, 4).Draw(t, "loaded") == 0 {
				if !w.resumeLoaded(w.codex.drawOpening(t, "thread/resume")) {
					return
				}
				continue
			}
			method := sample(t, "method", "turn/start", "thread/settings/update")
			if params := w.codex.drawTurn(t, method); !w.turn(method, params) {
				return
			}
		}
	})
}

// move makes another folder that of the thread. It has the name of the one before, which gets another name.
func (w *played) move() {
	if w.known != "" {
		w.known = "/code/before"
	}
	w.codex.trust = sample(w.t, "trust of the other folder", "", "trusted", "untrusted")
	w.without.trust = w.codex.trust
}

func withoutThread(st policy.State) policy.State {
	st.Thread = nil
	return st
}

// turn plays a turn or a change of settings. It returns false if the bridge refuses it.
func (w *played) turn(method string, params map[string]any) bool {
	st := state()
	st.Thread = w.thread
	if method == "turn/start" {
		params["input"] = []any{}
	}
	sent, d, ok := w.decide(method, params, st)
	if !ok {
		return false
	}
	w.checkEnvironments(params)
	w.alone, w.bridge = w.codex.turn(w.alone, params), w.codex.turn(w.bridge, sent)
	if d.Gated != nil {
		w.bridge.gated = *d.Gated
	}
	w.check()
	thread := *w.thread
	response := w.bridge.response()
	response["sandboxPolicy"] = response["sandbox"]
	doc, err := rpc.ParseValue(encoded(w.t, response))
	if err != nil {
		w.t.Fatal(err)
	}
	thread.Update(doc.Root())
	thread.Gated = w.bridge.gated
	w.thread = &thread
	return true
}
