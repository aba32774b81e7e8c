package policy_test

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// exceeds returns where a message for Codex requests more than the policy allows. It reads the
// message as leniently as Codex does (measured: maps and arrays for enums, every form of an overlay
// key), and shares no code with the package.
func exceeds(cfg config.Policy, st policy.State, line []byte) []string {
	var m struct {
		Method string
		Params map[string]any
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return []string{err.Error()}
	}
	o := oracle{cfg: cfg, st: st, method: m.Method, p: m.Params}
	o.opens = m.Method == "thread/start" || m.Method == "thread/resume" || m.Method == "thread/fork"
	o.read()
	return o.bad
}

type oracle struct {
	cfg    config.Policy
	st     policy.State
	method string
	p      map[string]any
	opens  bool
	bad    []string

	overlay   map[string]any // dotted path → leaf
	workspace string
}

func (o *oracle) fail(format string, args ...any) {
	o.bad = append(o.bad, fmt.Sprintf(format, args...))
}

// enum returns the variant that Codex reads in v.
func enum(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		if t, ok := v["type"]; ok {
			return enum(t)
		}
		for k := range v {
			return k
		}
	case []any:
		if len(v) > 0 {
			return enum(v[0])
		}
	}
	return ""
}

func (o *oracle) read() {
	o.overlay = map[string]any{}
	if c, ok := o.p["config"]; ok && c != nil {
		flatten("", c, o.overlay)
	}
	o.workspace = o.st.StartFolder
	if !o.opens || o.method != "thread/start" && o.st.Thread != nil {
		o.workspace = o.st.Thread.Workspace
	}
	if cwd, ok := o.p["cwd"].(string); ok {
		at, err := disk.Canonical(cwd)
		if err != nil || at != cwd {
			o.fail("cwd %q is not canonical", cwd)
		}
		if o.opens {
			o.workspace = at
		} else if !o.inside(at) {
			o.fail("cwd %s", at)
		}
	} else if o.p["cwd"] != nil {
		o.fail("cwd of another kind")
	}
	o.approval()
	o.sandbox()
	o.folders("runtimeWorkspaceRoots", o.p["runtimeWorkspaceRoots"])
	o.environments()
	o.names()
	o.keys()
	if o.opens {
		o.trust()
	}
}

func (o *oracle) approval() {
	a := o.p["approvalPolicy"]
	name := enum(a)
	if a == nil && o.method == "thread/start" {
		if name = "on-request"; o.st.Defaults.Approval != nil {
			var v any
			_ = json.Unmarshal(o.st.Defaults.Approval, &v)
			name = enum(v)
		} else if _, marked := o.overlay["projects."+o.workspace+".trust_level"]; marked && o.overlay["projects."+o.workspace+".trust_level"] != "trusted" {
			name = "untrusted"
		}
	} else if a == nil {
		return
	}
	if isReduced(a) {
		name = "reduced"
	}
	if !allowsApproval(o.cfg, name) {
		o.fail("approval %s", name)
	}
}

// IsReduced reports whether an approval policy is granular and lets nothing leave the sandbox.
func isReduced(v any) bool {
	outer, _ := v.(map[string]any)
	inner, _ := outer["granular"].(map[string]any)
	return len(outer) == 1 && inner["sandbox_approval"] == false
}

// AllowsApproval reports whether Codex may have an approval policy without the gate.
func allowsApproval(cfg config.Policy, name string) bool {
	return slices.Contains(cfg.Approval, name) || name == "reduced" && slices.ContainsFunc(cfg.Approval, func(one string) bool { return one != "untrusted" })
}

var levels = map[string]int{
	"read-only": 0, "workspace-write": 1, "danger-full-access": 2,
	"readOnly": 0, "workspaceWrite": 1, "dangerFullAccess": 2, "externalSandbox": 2,
	":read-only": 0, ":workspace": 1, ":danger-full-access": 2,
}

func (o *oracle) sandbox() {
	field := "sandboxPolicy"
	if o.opens {
		field = "sandbox"
	}
	s, perm := o.p[field], o.p["permissions"]
	if s != nil && perm != nil {
		o.fail("both")
	}
	name, known := "", true
	switch {
	case s != nil:
		name = enum(s)
	case perm != nil:
		name = enum(perm)
	case o.method == "thread/start" && o.st.Defaults.Permissions != "":
		name = o.st.Defaults.Permissions
	case o.method == "thread/start" && o.st.Defaults.Sandbox != "":
		name = o.st.Defaults.Sandbox
	case o.method == "thread/start":
		name = "workspace-write" // at most
	default:
		known = false
	}
	if strings.HasPrefix(name, "codex-bridge") {
		o.ownProfile(name)
		name = ":workspace"
	}
	l, ok := levels[name]
	if known && (!ok || l > levels[o.cfg.Sandbox]) {
		o.fail("sandbox %q", name)
	}
	// The workspace of a thread that comes back without a cwd is not known here.
	located := !o.opens || o.method == "thread/start" || o.p["cwd"] != nil || o.st.Thread != nil
	if known && l == 1 && located && !o.writable(o.workspace) {
		o.fail("workspace-write in %s", o.workspace)
	}
	obj, _ := s.(map[string]any)
	if n := obj["networkAccess"]; n != nil && n != false && n != "restricted" && !o.cfg.Network {
		o.fail("network %v", n)
	}
	if roots, ok := obj["writableRoots"].([]any); ok {
		for _, r := range roots {
			text, _ := r.(string)
			if at, err := disk.Canonical(text); err != nil || at != text || !o.writable(at) {
				o.fail("writable root %v", r)
			}
		}
	} else if obj["writableRoots"] != nil {
		o.fail("writable roots of another kind")
	}
	if o.method == "thread/start" && perm == nil && levels[o.cfg.Sandbox] > 0 && !strings.HasPrefix(o.st.Defaults.Permissions, ":") {
		o.leaks(l)
	}
}

// ownProfile: the bridge's profile has the roots and the network from its definition.
func (o *oracle) ownProfile(name string) {
	if strings.Contains(name, "-network") && !o.cfg.Network {
		o.fail("network of %s", name)
	}
	if !strings.HasSuffix(name, "-roots") {
		return
	}
	var roots []string
	if !o.opens {
		roots = o.st.Thread.Profile.Roots
	}
	for key, access := range o.overlay {
		if root, ok := strings.CutPrefix(key, "permissions."+name+".filesystem."); ok && path.IsAbs(root) && access == "write" {
			roots = append(roots, root)
		}
	}
	for _, root := range roots {
		if !o.writable(root) {
			o.fail("root %s of %s", root, name)
		}
	}
}

// leaks checks Codex's own sandbox_workspace_write.
func (o *oracle) leaks(l int) {
	if v, set := o.overlay["sandbox_workspace_write.network_access"]; o.st.Defaults.Network && !o.cfg.Network && l == 1 && (!set || v != false) {
		o.fail("the user's network")
	}
	v, set := o.overlay["sandbox_workspace_write.writable_roots"]
	roots, _ := v.([]any)
	if !set {
		for _, r := range o.st.Defaults.WritableRoots {
			roots = append(roots, r)
		}
	}
	for _, r := range roots {
		if at, err := disk.Canonical(r.(string)); err != nil || !o.writable(at) {
			o.fail("the user's root %v", r)
		}
	}
}

// noWorkspace reports whether no thread may own the folder: the home folder, folders of Codex and
// the bridge, and all folders above.
func noWorkspace(st policy.State, w string) bool {
	if w == "/" {
		return true
	}
	for _, p := range append([]string{st.Home, st.CodexHome}, st.Sensitive...) {
		if p != "" && (p == w || strings.HasPrefix(p, w+"/")) {
			return true
		}
	}
	for _, p := range append([]string{st.CodexHome}, st.Sensitive...) {
		if p != "" && strings.HasPrefix(w, p+"/") && !strings.HasPrefix(w, st.CodexHome+"/worktrees/") {
			return true
		}
	}
	return hidden.MatchString(strings.TrimPrefix(w, st.CodexHome+"/worktrees"))
}

// hidden are folders from which git and Codex run programs.
var hidden = regexp.MustCompile(`(?i)/\.(git|codex|agents)(/|$)`)

// holds reports whether a writable root makes at writable.
func holds(root, at string) bool {
	root = strings.TrimSuffix(root, "/")
	rest, ok := strings.CutPrefix(at, root)
	return ok && (rest == "" || rest[0] == '/') && !hidden.MatchString(rest)
}

// writable reports whether the policy lets a folder be written.
func (o *oracle) writable(at string) bool {
	for _, r := range o.cfg.WritableRoots {
		if rest, ok := strings.CutPrefix(r, "${workspace}"); ok {
			w := o.workspace
			if w == "" || noWorkspace(o.st, w) {
				continue
			}
			r = path.Join(w, rest)
		}
		if holds(r, at) {
			return true
		}
	}
	return false
}

func (o *oracle) inside(at string) bool {
	w := o.workspace
	return w != "" && holds(w, at) || o.writable(at)
}

func (o *oracle) folders(what string, v any) {
	if v == nil {
		return
	}
	list, ok := v.([]any)
	if !ok {
		o.fail("%s of another kind", what)
	}
	if o.method != "thread/start" && o.opens && o.st.Thread == nil && o.p["cwd"] == nil {
		o.workspace = "" // not known
	}
	for _, r := range list {
		text, _ := r.(string)
		if at, err := disk.Canonical(text); err != nil || at != text || !o.inside(at) {
			o.fail("%s %v", what, r)
		}
	}
}

func (o *oracle) environments() {
	v := o.p["environments"]
	if v == nil {
		return
	}
	list, ok := v.([]any)
	if !ok {
		o.fail("environments of another kind")
	}
	for _, e := range list {
		env, _ := e.(map[string]any)
		if env["environmentId"] != "local" {
			o.fail("environment %v", e)
		}
		o.folders("environment cwd", []any{env["cwd"]})
		o.folders("environment roots", env["runtimeWorkspaceRoots"])
	}
}

func (o *oracle) names() {
	model := func(v any) {
		name, _ := v.(string)
		if v == nil || len(o.cfg.Models) == 0 {
			return
		}
		for _, g := range o.cfg.Models {
			if ok, _ := path.Match(g, name); ok {
				return
			}
		}
		o.fail("model %v", v)
	}
	effort := func(v any) {
		if name, _ := v.(string); v != nil && len(o.cfg.Efforts) > 0 && !slices.Contains(o.cfg.Efforts, name) {
			o.fail("effort %v", v)
		}
	}
	reviewer := func(v any) {
		name := strings.Replace(enum(v), "guardian_subagent", "auto_review", 1)
		if v != nil && name != "user" && !slices.Contains(o.cfg.Reviewers, name) {
			o.fail("reviewer %v", v)
		}
	}
	model(o.p["model"])
	effort(o.p["effort"])
	reviewer(o.p["approvalsReviewer"])
	if o.method == "thread/start" {
		if o.p["approvalsReviewer"] == nil {
			reviewer(cmpOr(o.st.Defaults.Reviewer, "user"))
		}
		_, inOverlay := o.overlay["model"]
		if o.p["model"] == nil && !inOverlay && o.st.Defaults.Model != "" {
			model(o.st.Defaults.Model)
		}
		if _, set := o.overlay["model_reasoning_effort"]; !set && o.st.Defaults.Effort != "" {
			effort(o.st.Defaults.Effort)
		}
	}
	for k, v := range o.overlay {
		segments := strings.Split(k, ".")
		switch last := segments[len(segments)-1]; {
		case last == "model", strings.HasSuffix(last, "_model"):
			if v == nil {
				v = "" // measured
			}
			model(v)
		case last == "model_reasoning_effort":
			effort(v)
		}
	}
	if c := o.p["collaborationMode"]; c != nil {
		settings, ok := c.(map[string]any)["settings"].(map[string]any)
		if !ok {
			o.fail("collaborationMode %v", c)
		}
		model(settings["model"])
		effort(settings["reasoning_effort"])
	}
	if list, ok := o.p["disabledPluginIds"].([]any); o.p["disabledPluginIds"] != nil && (!ok || len(list) > 0) {
		o.fail("disabledPluginIds %v", o.p["disabledPluginIds"])
	}
	for _, gone := range []string{"path", "history", "toolOutput", "selectedCapabilityRoots", "approval_policy", "sandboxMode_", "Sandbox"} {
		if o.p[gone] != nil {
			o.fail("%s %v", gone, o.p[gone])
		}
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

var dangerous = []string{
	"approval_policy", "sandbox_mode", "default_permissions", "permissions", "approvals_reviewer", "projects",
	"bypass_hook_trust", "hooks", "features.hooks", "features.codex_hooks", "features.plugins", "plugins", "profile", "profiles", "sandbox_workspace_write", "sqlite_home",
}

// narrowest are the drawn keys that can only narrow with these values.
var narrowest = map[string]any{
	"features.goals": false, "tools.update_plan.enabled": false, "web_search": "disabled", "cli_auth_credentials_store": "ephemeral",
	"sandbox_workspace_write.network_access": false, "sandbox_workspace_write.writable_roots": []any{}, "sandbox_workspace_write.exclude_slash_tmp": true,
}

func (o *oracle) keys() {
	for k, v := range o.overlay {
		if k == "sandbox_workspace_write.network_access" && v == false || k == "sandbox_workspace_write.writable_roots" {
			continue // judged above, or harmless: resume and fork get theirs alike
		}
		if strings.HasPrefix(k, "projects.") && o.cfg.ProjectTrust != "codex" {
			continue // judged in trust
		}
		if strings.HasPrefix(k, "permissions.codex-bridge") {
			continue // judged in ownProfile
		}
		if name, _ := v.(string); k == "default_permissions" && (name == ":read-only" || strings.HasPrefix(name, "codex-bridge") && o.p["permissions"] == v) {
			continue // the profile of the thread
		}
		if k == "features.skill_mcp_dependency_install" && v == false {
			continue // pinned
		}
		if off, known := narrowest[k]; known && cmp.Equal(v, off) {
			continue // it can only narrow
		}
		for _, d := range dangerous {
			if k == d || strings.HasPrefix(k, d+".") {
				o.fail("overlay %s", k)
			}
		}
		if !slices.Contains(o.cfg.ConfigKeys, "**") && !strings.HasPrefix(k, "model") && !strings.HasPrefix(k, "features.code_mode") {
			o.fail("overlay %s", k)
		}
	}
}

// flatten returns every key that Codex reads.
func flatten(at string, v any, out map[string]any) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		if at != "" {
			out[at] = v
		}
		return
	}
	for k, v := range m {
		if at != "" {
			k = at + "." + k
		}
		flatten(k, v, out)
	}
}
