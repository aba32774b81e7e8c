package policy_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// TestLinksAtProtectedPaths checks that a thread that may write does not open where a protected path, or a
// folder above it, is a link, and that the error names it.
func TestLinksAtProtectedPaths(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".github/workflows"}
	for name, test := range map[string]struct {
		links links
		want  string
	}{
		"no link":      {links{}, ""},
		"another link": {links{"/code/proj/.github/other": "/etc"}, ""},
		"above":        {links{"/code/proj/.github": "/code/proj/gh"}, `"/code/proj/.github" is a link to "/code/proj/gh", and Codex can't keep commands from replacing it`},
		"itself":       {links{"/code/proj/.github/workflows": "/srv/flows"}, `"/code/proj/.github/workflows" is a link to "/srv/flows"`},
	} {
		for _, sandbox := range []string{"workspace-write", "read-only"} {
			st := state()
			st.Paths = test.links
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"`+sandbox+`"}}`), st)
			switch refused := test.want != "" && sandbox == "workspace-write"; {
			case !refused && d.Err != nil, refused && (d.Err == nil || !strings.Contains(d.Err.Message, test.want)):
				t.Errorf("%s, %s: %v", name, sandbox, d.Err)
			}
		}
	}
}

// TestLinksAndWaysToWrite checks each way in which a thread or a turn gets a sandbox that may write: none works
// where a protected path is a link, and read-only does.
func TestLinksAndWaysToWrite(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths, cfg.WritableRoots, cfg.Sandbox = []string{".vscode"}, []string{"/code", "/srv"}, "workspace-write"
	thread := policy.Thread{
		ID: "T", Workspace: "/code/proj", Cwd: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`),
		Profile: policy.Profile{Defined: true, Entries: map[string]any{":workspace_roots": map[string]string{".vscode": "read"}}},
	}
	stored := &policy.SandboxSettings{Mode: "workspace-write", Profile: ":workspace"}
	for name, one := range map[string]struct {
		method, params string
		reads          bool // the thread is read-only before
		at             string
		passes         bool
	}{
		"thread, sandbox":              {method: "thread/start", params: `"cwd":"/code/proj","sandbox":"workspace-write"`},
		"thread, profile":              {method: "thread/start", params: `"cwd":"/code/proj","permissions":":workspace"`},
		"thread, the bridge's profile": {method: "thread/start", params: `"cwd":"/code/proj","permissions":"codex-bridge-network"`},
		"thread, default profile":      {method: "thread/start", params: `"cwd":"/code/proj","config":{"default_permissions":":workspace"}`},
		"thread, sandbox_mode":         {method: "thread/start", params: `"cwd":"/code/proj","config":{"sandbox_mode":"workspace-write"}`},
		"thread, other root":           {method: "thread/start", params: `"cwd":"/code/proj","sandbox":"workspace-write","runtimeWorkspaceRoots":["/srv/x"]`, at: "/srv/x"},
		"thread, environment":          {method: "thread/start", params: `"cwd":"/code/proj","sandbox":"workspace-write","environments":[{"environmentId":"local","cwd":"/srv/x"}]`, at: "/srv/x"},
		"resume, stored sandbox":       {method: "thread/resume", params: `"threadId":"T","cwd":"/code/proj"`},
		"resume, sandbox":              {method: "thread/resume", params: `"threadId":"T","cwd":"/code/proj","sandbox":"workspace-write"`, reads: true},
		"fork, stored sandbox":         {method: "thread/fork", params: `"threadId":"T"`},
		"fork, profile":                {method: "thread/fork", params: `"threadId":"T","permissions":":workspace"`, reads: true},
		"thread, read-only":            {method: "thread/start", params: `"cwd":"/code/proj","sandbox":"read-only"`, passes: true},
		"fork, read-only":              {method: "thread/fork", params: `"threadId":"T","permissions":":read-only"`, passes: true},
		"turn, kept sandbox":           {method: "turn/start", params: `"threadId":"T"`},
		"turn, kept read-only":         {method: "turn/start", params: `"threadId":"T"`, reads: true, passes: true},
		"turn, sandboxPolicy":          {method: "turn/start", params: `"threadId":"T","sandboxPolicy":{"type":"workspaceWrite"}`, reads: true},
		"turn, lowered policy":         {method: "turn/start", params: `"threadId":"T","sandboxPolicy":{"type":"dangerFullAccess"}`, reads: true},
		"turn, profile":                {method: "turn/start", params: `"threadId":"T","permissions":":workspace"`, reads: true},
		"turn, the bridge's profile":   {method: "turn/start", params: `"threadId":"T","permissions":"codex-bridge"`, reads: true},
		"turn, its variant":            {method: "turn/start", params: `"threadId":"T","permissions":"codex-bridge-no-tmpdir"`, reads: true},
		"turn, read-only policy":       {method: "turn/start", params: `"threadId":"T","sandboxPolicy":{"type":"readOnly"}`, passes: true},
		"turn, read-only profile":      {method: "turn/start", params: `"threadId":"T","permissions":":read-only"`, passes: true},
		"turn, narrower cwd":           {method: "turn/start", params: `"threadId":"T","cwd":"/code/proj/sub"`, passes: true}, // writes nothing
		"turn, other cwd":              {method: "turn/start", params: `"threadId":"T","cwd":"/srv/x"`, at: "/srv/x"},
		"turn, other root":             {method: "turn/start", params: `"threadId":"T","runtimeWorkspaceRoots":["/code/proj","/srv/x"]`, at: "/srv/x"},
		"turn, environment":            {method: "turn/start", params: `"threadId":"T","environments":[{"environmentId":"local","cwd":"/srv/x"}]`, at: "/srv/x"},
		"turn, kept cwd":               {method: "turn/start", params: `"threadId":"T","sandboxPolicy":{"type":"workspaceWrite"}`, reads: true, at: "/srv/kept"},
		"settings, sandboxPolicy":      {method: "thread/settings/update", params: `"threadId":"T","sandboxPolicy":{"type":"workspaceWrite"}`, reads: true},
		"settings, profile":            {method: "thread/settings/update", params: `"threadId":"T","permissions":":workspace"`, reads: true},
		"settings, bridge's profile":   {method: "thread/settings/update", params: `"threadId":"T","permissions":"codex-bridge"`, reads: true},
	} {
		for _, linked := range []bool{false, true} {
			st, now := state(), thread
			at := cmp.Or(one.at, "/code/proj")
			st.Paths = links{}
			if linked {
				st.Paths = links{at + "/.vscode": "/code/conf"}
			}
			if one.reads {
				now.Sandbox = "read-only"
			}
			if at == "/srv/kept" {
				now.Cwd = at
			}
			st.Thread, st.StoredSandbox = &now, stored
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+one.method+`","params":{`+one.params+`}}`), st)
			want := ""
			if linked && !one.passes {
				want = `"` + at + `/.vscode" is a link to "/code/conf"`
			}
			if want == "" && d.Err != nil || want != "" && (d.Err == nil || !strings.Contains(d.Err.Message, want)) {
				t.Errorf("%s, linked %v: %v", name, linked, d.Err)
			}
		}
	}
}
