package policy_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// codexAlone is a user's configuration, and what Codex makes of requests under it without the bridge. It
// shares no code with the package. docs/internals/codex.md has the facts;
// TestModelOfCodex and TestSettingsOfCodex compare a sample with the real one.
type codexAlone struct {
	approval             any    // approval_policy; nil: absent
	sandbox, permissions string // sandbox_mode, default_permissions
	table                permissionTable
	network              bool // of sandbox_workspace_write
	noTmpdir, noSlashTmp bool
	roots                []string
	trust                string // of the workspace: "trusted", "untrusted" or ""
	reviewer             string // approvals_reviewer
	flags                codexFlags
}

// codexFlags are values of Codex's command line, -c KEY=VALUE. They replace those of the configuration.
type codexFlags struct {
	approval             any
	sandbox, permissions string
	reviewer             string
}

// threadSettings are what the commands of a thread may do, and how Codex decides about the rest.
type threadSettings struct {
	approval any
	reviewer string
	gated    bool // the bridge asks about each command in Codex's place
	danger   bool // no sandbox
	// table and profile have the access to files; mode is the sandbox if no profile gives it.
	table                permissionTable
	profile              string
	mode                 string
	network              bool
	limits               map[string]any // settings of the network of a profile, without "enabled"
	noTmpdir, noSlashTmp bool
	// cwd and roots are the folders of the thread. environment are the roots of an environment, which count
	// until a turn has a cwd or roots; nil: there is none.
	cwd                string
	roots, environment []string
}

const modeProfile = "(mode)" // the profile of a sandbox mode in threadSettings.table

// open returns the settings of a thread that a request opens. stored are those of a thread that is not
// loaded.
func (c codexAlone) open(method string, params map[string]any, stored *threadSettings) threadSettings {
	overlay, _ := params["config"].(map[string]any)
	t := threadSettings{table: maps.Clone(c.table), reviewer: "user"}
	if t.table == nil {
		t.table = permissionTable{}
	}
	for name, one := range tableOf(overlay["permissions"]) {
		t.table[name] = one
	}
	untrusted, known := c.trust == "untrusted", c.trust != ""
	if projects, ok := overlay["projects"].(map[string]any); ok {
		if one, ok := projects["/code/proj"].(map[string]any); ok {
			untrusted, known = one["trust_level"] == "untrusted", true
		}
	}
	t.approval = any("on-request")
	if untrusted {
		t.approval = "untrusted"
	}
	before := []any{overlay["approval_policy"]}
	switch {
	case method == "thread/fork":
		before = []any{overlay["approval_policy"], stored.approval}
	case stored != nil:
		before = []any{stored.approval, overlay["approval_policy"]}
	}
	for _, v := range append(append([]any{c.approval, c.flags.approval}, before...), params["approvalPolicy"]) {
		if v != nil {
			t.approval = v
		}
	}
	var restored string
	if stored != nil {
		restored = stored.reviewer
	}
	for _, v := range []any{c.reviewer, c.flags.reviewer, restored, overlay["approvals_reviewer"], params["approvalsReviewer"]} {
		if name, ok := v.(string); ok && name != "" {
			t.reviewer = name
		}
	}
	c.setSandbox(&t, params, overlay, stored, known)
	t.setFolders(method, params, stored)
	return t
}

// setFolders sets the folders of a thread that a request opens. A resume restores those of the last turn; a
// fork has only the cwd.
func (t *threadSettings) setFolders(method string, params map[string]any, stored *threadSettings) {
	t.cwd, t.roots = "/code/proj", []string{"/code/proj"}
	if stored != nil {
		t.cwd, t.roots = stored.cwd, stored.writableFolders()
	}
	if method == "thread/fork" {
		t.roots = []string{t.cwd}
	}
	t.move(params)
}

// move changes the folders of a thread: without roots, a cwd takes the place of the one before among them.
func (t *threadSettings) move(params map[string]any) {
	if cwd, ok := params["cwd"].(string); ok {
		t.roots, t.environment = slices.Clone(t.roots), nil
		for i, root := range t.roots {
			if root == t.cwd {
				t.roots[i] = cwd
			}
		}
		t.cwd = cwd
	}
	if list, ok := params["runtimeWorkspaceRoots"].([]any); ok {
		t.roots, t.environment = texts(list), nil
	}
	if list, ok := params["environments"].([]any); ok {
		first := list[0].(map[string]any)
		t.cwd = first["cwd"].(string)
		if t.environment = []string{t.cwd}; first["runtimeWorkspaceRoots"] != nil {
			t.environment = texts(first["runtimeWorkspaceRoots"].([]any))
		}
	}
}

func texts(list []any) []string {
	all := []string{}
	for _, v := range list {
		all = append(all, v.(string))
	}
	return all
}

// writableFolders returns the roots that count.
func (t threadSettings) writableFolders() []string {
	if t.environment != nil {
		return t.environment
	}
	return t.roots
}

// knowsEnvironments reports whether Codex has the environments of a request; it refuses others.
func knowsEnvironments(params map[string]any) bool {
	list, _ := params["environments"].([]any)
	return !slices.ContainsFunc(list, func(v any) bool { return v.(map[string]any)["environmentId"] != "local" })
}

// afterStart returns the configuration after a thread/start: Codex stores the folder of a cwd as trusted, if
// it did not know it and the thread gets more than read-only.
func (c codexAlone) afterStart(params map[string]any, t threadSettings) codexAlone {
	overlay, _ := params["config"].(map[string]any)
	projects, _ := overlay["projects"].(map[string]any)
	if c.trust == "" && params["cwd"] != nil && projects["/code/proj"] == nil && t.level() != "read-only" {
		c.trust = "trusted"
	}
	return c
}

func (c codexAlone) setSandbox(t *threadSettings, params, overlay map[string]any, stored *threadSettings, knownProject bool) {
	_, hasTable := overlay["permissions"]
	text := func(v any) string { s, _ := v.(string); return s }
	switch {
	case params["sandbox"] != nil:
		c.setMode(t, text(params["sandbox"]), overlay)
	case params["permissions"] != nil:
		t.setProfile(text(params["permissions"]))
	case overlay["default_permissions"] != nil:
		t.setProfile(text(overlay["default_permissions"]))
	case overlay["sandbox_mode"] != nil && c.flags.permissions != "": // in one layer
		t.setProfile(c.flags.permissions)
	case overlay["sandbox_mode"] != nil:
		c.setMode(t, text(overlay["sandbox_mode"]), overlay)
	case stored != nil && !hasTable && len(workspaceKeys(overlay)) == 0 && stored.mode != "workspace-write":
		t.danger, t.table, t.profile, t.mode, t.network, t.limits = stored.danger, stored.table, stored.profile, stored.mode, stored.network, stored.limits
		t.noTmpdir, t.noSlashTmp = stored.noTmpdir, stored.noSlashTmp
	case c.flags.permissions != "": // also in place of a workspace-write that no profile gave
		t.setProfile(c.flags.permissions)
	case c.flags.sandbox != "":
		c.setMode(t, c.flags.sandbox, overlay)
	case c.permissions != "":
		t.setProfile(c.permissions)
	case c.sandbox != "":
		c.setMode(t, c.sandbox, overlay)
	case knownProject:
		c.setMode(t, "workspace-write", overlay)
	default:
		c.setMode(t, "read-only", overlay)
	}
}

// workspaceKeys returns the keys of sandbox_workspace_write in an overlay.
func workspaceKeys(overlay map[string]any) map[string]any {
	keys := map[string]any{}
	for key, v := range overlay {
		if below, ok := strings.CutPrefix(key, "sandbox_workspace_write."); ok {
			keys[below] = v
		}
	}
	if table, ok := overlay["sandbox_workspace_write"].(map[string]any); ok {
		maps.Copy(keys, table)
	}
	return keys
}

// setMode sets a sandbox mode with the values of sandbox_workspace_write.
func (c codexAlone) setMode(t *threadSettings, mode string, overlay map[string]any) {
	keys := workspaceKeys(overlay)
	is := func(key string, own bool) bool {
		if v, ok := keys[key].(bool); ok {
			return v
		}
		return own
	}
	roots := c.roots
	if list, ok := keys["writable_roots"].([]any); ok {
		roots = nil
		for _, v := range list {
			roots = append(roots, v.(string))
		}
	}
	t.setMode(mode, is("network_access", c.network), is("exclude_tmpdir_env_var", c.noTmpdir), is("exclude_slash_tmp", c.noSlashTmp), roots)
}

func (t *threadSettings) setMode(mode string, network, noTmpdir, noSlashTmp bool, roots []string) {
	t.mode, t.danger, t.profile = mode, mode == "danger-full-access", modeProfile
	files := map[string]any{":root": "read"}
	t.network, t.limits, t.noTmpdir, t.noSlashTmp = false, nil, false, false
	if mode == "workspace-write" {
		t.network, t.noTmpdir, t.noSlashTmp = network, noTmpdir, noSlashTmp
		files[":workspace_roots"] = "write"
		if !noTmpdir {
			files[":tmpdir"] = "write"
		}
		if !noSlashTmp {
			files[":slash_tmp"] = "write"
		}
		for _, root := range roots {
			files[root] = "write"
		}
	}
	t.table = maps.Clone(t.table)
	t.table[modeProfile] = permissionEntry{Filesystem: files}
}

func (t *threadSettings) setProfile(name string) {
	t.profile, t.mode, t.danger = name, "", name == ":danger-full-access"
	t.network, t.limits = false, nil
	for at := name; ; at = t.table[at].Extends {
		one, ok := t.table[at]
		if !ok {
			break
		}
		if one.Network != nil {
			t.limits = maps.Clone(one.Network)
			t.network, _ = one.Network["enabled"].(bool)
			delete(t.limits, "enabled")
			break
		}
	}
	t.noTmpdir, t.noSlashTmp = strings.Contains(name, "-no-tmpdir"), strings.Contains(name, "-no-slash-tmp")
}

// turn returns the settings of a thread after a turn or a change of its settings.
func (c codexAlone) turn(t threadSettings, params map[string]any) threadSettings {
	t.move(params)
	if v := params["approvalPolicy"]; v != nil {
		t.approval = v
	}
	if name, ok := params["approvalsReviewer"].(string); ok {
		t.reviewer = name
	}
	if name, ok := params["permissions"].(string); ok {
		t.setProfile(name)
	}
	if object, ok := params["sandboxPolicy"].(map[string]any); ok {
		denied := t.table.keysOf(t.profile)
		is := func(key string) bool { v, _ := object[key].(bool); return v }
		modes := map[string]string{"readOnly": "read-only", "workspaceWrite": "workspace-write", "dangerFullAccess": "danger-full-access"}
		roots := slices.Clone(c.roots)
		list, _ := object["writableRoots"].([]any)
		for _, v := range list {
			roots = append(roots, v.(string))
		}
		kind, _ := object["type"].(string)
		t.setMode(modes[kind], is("networkAccess"), is("excludeTmpdirEnvVar"), is("excludeSlashTmp"), roots)
		t.network = t.network || kind == "readOnly" && is("networkAccess")
		for key, access := range denied {
			if access == "deny" {
				t.table[modeProfile].Filesystem[strings.TrimSuffix(key, "/.")] = "deny"
			}
		}
	}
	return t
}

// tableOf decodes a table of profiles.
func tableOf(v any) (table permissionTable) {
	text, _ := json.Marshal(v)
	_ = json.Unmarshal(text, &table)
	return table
}

// access returns the access of commands to a path.
func (t threadSettings) access(path string) string {
	if t.danger {
		return "write"
	}
	return t.table.accessWith(t.profile, path, t.writableFolders())
}

// Outcomes of something that a command or the model wants, the strictest first.
const (
	refused = iota
	asked
	allowed
)

// outcomes returns what happens to a command in the sandbox, to one that wants to leave it, to a question
// of a rule, and to each other kind of question.
func (t threadSettings) outcomes() (inside, outside, rule int, others map[string]int) {
	inside, outside, rule = allowed, asked, asked
	others = map[string]int{"mcp_elicitations": asked, "skill_approval": asked, "request_permissions": asked}
	kinds, granular := map[string]any{}, false
	if object, ok := t.approval.(map[string]any); ok {
		kinds, granular = object["granular"].(map[string]any)
	}
	answer := func(kind string) int {
		if kinds[kind] == true {
			return asked
		}
		return refused
	}
	switch {
	case granular || t.approval == "never":
		outside, rule = answer("sandbox_approval"), answer("rules")
		for kind := range others {
			others[kind] = answer(kind)
		}
	case t.approval == "untrusted":
		inside = asked
	}
	if t.approval == "never" && t.danger {
		others["mcp_elicitations"] = allowed // tools run without a question
	}
	if t.gated {
		inside = rule // the bridge asks the client, or refuses
	}
	if t.danger {
		outside = inside
	}
	return inside, outside, rule, others
}

// The model says of the threads in a file what the real Codex says; TestSettingsOfCodex compares that one.
func TestModelOfCodex(t *testing.T) {
	text, err := os.ReadFile("../../testdata/settings-of-codex.json")
	if err != nil {
		t.Fatal(err)
	}
	var sample []struct {
		Config struct {
			Approval, Sandbox, Permissions, Trust string
			Network, NoSlashTmp                   bool
			Table                                 permissionTable
		}
		Threads []struct {
			Start      map[string]any
			WithoutCwd bool
			Turn       map[string]any
			Then       []map[string]any
			Answers    []map[string]any
		}
	}
	if err := json.Unmarshal(text, &sample); err != nil {
		t.Fatal(err)
	}
	for _, one := range sample {
		in := one.Config
		c := codexAlone{sandbox: in.Sandbox, permissions: in.Permissions, table: in.Table, network: in.Network, noSlashTmp: in.NoSlashTmp, trust: in.Trust}
		if in.Approval != "" {
			c.approval = in.Approval
		}
		for _, thread := range one.Threads {
			params := map[string]any{"cwd": "/code/proj"}
			if thread.WithoutCwd {
				params = map[string]any{}
			}
			maps.Copy(params, thread.Start)
			is := c.open("thread/start", params, nil)
			got, c := []map[string]any{is.answer()}, c.afterStart(params, is)
			is = c.turn(is, thread.Turn)
			for _, then := range thread.Then {
				stored := is
				got = append(got, c.open(then["method"].(string), then, &stored).answer())
			}
			if !reflect.DeepEqual(got, thread.Answers) {
				t.Errorf("%v, then %v: the model says %v, Codex %v", thread.Start, thread.Then, got, thread.Answers)
			}
		}
	}
}

// answer has what Codex says of the settings, and whether a command reads the file keys.
func (t threadSettings) answer() map[string]any {
	approval := t.approval
	if object, ok := approval.(map[string]any); ok {
		granular := map[string]any{"mcp_elicitations": false, "request_permissions": false, "rules": false, "sandbox_approval": false, "skill_approval": false}
		maps.Copy(granular, object["granular"].(map[string]any))
		approval = map[string]any{"granular": granular}
	}
	return map[string]any{
		"approval": approval, "sandbox": map[string]string{"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess"}[t.level()],
		"network": t.network, "noSlashTmp": t.noSlashTmp, "reads": t.access("/code/proj/keys") != "deny",
	}
}
