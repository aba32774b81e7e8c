package policy_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
)

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*config.Policy)
		want string
	}{
		{"mode", func(c *config.Policy) { c.Mode = "" }, "policy.mode"},
		{"approval", func(c *config.Policy) { c.Approval = []string{"on-failure"} }, "policy.approval"},
		{"no approval", func(c *config.Policy) { c.Approval = nil }, "policy.approval"},
		{"only granular", func(c *config.Policy) { c.Approval = []string{"granular"} }, "policy.approval"},
		{"sandbox", func(c *config.Policy) { c.Sandbox = "readOnly" }, "policy.sandbox"},
		{"reviewer", func(c *config.Policy) { c.Reviewers = []string{"nobody"} }, "policy.reviewers"},
		{"no reviewer", func(c *config.Policy) { c.Reviewers = nil }, "policy.reviewers"},
		{"model", func(c *config.Policy) { c.Models = []string{"gpt-[5"} }, "policy.models"},
		{"empty model", func(c *config.Policy) { c.Models = []string{""} }, "policy.models"},
		{"effort", func(c *config.Policy) { c.Efforts = []string{""} }, "policy.efforts"},
		{"key", func(c *config.Policy) { c.ConfigKeys = []string{"a..b"} }, "policy.config_keys"},
		{"key glob", func(c *config.Policy) { c.ConfigKeys = []string{"a.{b.c,d}"} }, "policy.config_keys"},
		{"relative root", func(c *config.Policy) { c.WritableRoots = []string{"a"} }, "policy.writable_roots"},
		{"another variable", func(c *config.Policy) { c.WritableRoots = []string{"${home}"} }, "policy.writable_roots"},
		{"inner variable", func(c *config.Policy) { c.WritableRoots = []string{"/a/${workspace}"} }, "policy.writable_roots"},
		{"beside the workspace", func(c *config.Policy) { c.WritableRoots = []string{"${workspace}x"} }, "policy.writable_roots"},
		{"out of the workspace", func(c *config.Policy) { c.WritableRoots = []string{"${workspace}/../x"} }, "policy.writable_roots"},
		{"another home", func(c *config.Policy) { c.WritableRoots = []string{"~ada"} }, "policy.writable_roots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := contract()
			tt.set(&cfg)
			_, err := policy.New(cfg, nil)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want+": ") {
				t.Errorf("got %v, want an error of %s", err, tt.want)
			}
		})
	}
}

func TestOffPassesEverything(t *testing.T) {
	p := compile(t, config.Policy{Mode: config.Off})
	d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"approvalPolicy":"never"}}`), policy.State{})
	if d.Verdict != policy.Pass || p.Mode() != config.Off {
		t.Errorf("%+v", d)
	}
	nothing := value(t, `{}`)
	if err := reported.Verify(p, d.Sent, nothing, policy.State{}); err != nil {
		t.Error(err)
	}
	if err := reported.VerifySettings(p, nothing, policy.State{}); err != nil {
		t.Error(err)
	}
}

// TestRoots checks that roots are compared by their targets.
func TestRoots(t *testing.T) {
	for _, tt := range []struct {
		roots []string
		cwd   string
		want  string
	}{
		{[]string{"${workspace}"}, "/code/proj", "workspace-write"},
		{[]string{"${workspace}/"}, "/code/proj", "workspace-write"},
		{[]string{"${workspace}/sub"}, "/code/proj", "read-only"},
		{[]string{"/code"}, "/code/proj", "workspace-write"},
		{[]string{"/code"}, "/code", "workspace-write"},
		{[]string{"/code"}, "/workshop", "read-only"},
		{[]string{"/code/link"}, "/code/proj", "read-only"}, // a command may have made the link
		{[]string{"/code/link/sub"}, "/code/proj/sub", "read-only"},
		{[]string{"/code/proj/loop"}, "/code/proj", "read-only"},
		{[]string{"~"}, "/home/ada", "workspace-write"},
		{[]string{"~/p"}, "/home/ada/p/q", "workspace-write"},
		{[]string{"~/p"}, "/home/ada", "read-only"},
		{[]string{"/"}, "/", "workspace-write"},
		{[]string{"${workspace}"}, "/Home/Ada", "read-only"}, // on a file system that ignores case it is the home
		{nil, "/code/proj", "read-only"},
	} {
		cfg := contract()
		cfg.WritableRoots = tt.roots
		line := `{"id":1,"method":"thread/start","params":{"sandbox":"workspace-write","cwd":"` + tt.cwd + `"}}`
		d := compile(t, cfg).Decide(message(t, line), state())
		if d.Sent == nil || d.Sent.Sandbox != tt.want || d.Workspace != tt.cwd {
			t.Errorf("%v in %v: %+v %s", tt.cwd, tt.roots, d.Sent, d.Message)
		}
	}
}

// TestLinkedRoots checks that a writable root behind a link is reported if the policy is enforced.
func TestLinkedRoots(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}/out", "/code/link/sub", "~/tmpfile", "/CODE", "~", "/srv/none", "/code/proj/loop"}
	for sandbox, want := range map[string]string{
		"read-only": "",
		"workspace-write": "policy.writable_roots: /code/link/sub leads to /code/proj/sub by a link, which a command could replace; name /code/proj/sub instead\n" +
			"policy.writable_roots: ~/tmpfile leads to /tmp by a link, which a command could replace; name /tmp instead\n",
	} {
		for _, mode := range []config.Mode{config.Enforce, config.Audit} {
			cfg.Sandbox, cfg.Mode = sandbox, mode
			var got string
			for _, err := range compile(t, cfg).LinkedRoots(state) {
				got += err.Error() + "\n"
			}
			if mode != config.Enforce && got != "" || mode == config.Enforce && got != want {
				t.Errorf("%s, %s: %s", sandbox, mode, got)
			}
		}
	}
}

// TestNoPaths checks that messages with paths are refused without access to the file system.
func TestNoPaths(t *testing.T) {
	st := state()
	st.Paths = nil
	p := compile(t, contract())
	d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st)
	if d.Verdict != policy.Deny {
		t.Errorf("%s", d.Message)
	}
	d = p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","cwd":"/code/proj"}}`), st)
	if d.Verdict != policy.Deny {
		t.Errorf("%s", d.Message)
	}
}

func TestNewThread(t *testing.T) {
	answer := value(t, `{"thread":{"id":"T","path":"/r"},"cwd":"/code/link/sub","sandbox":{"type":"workspaceWrite"},"approvalPolicy":"untrusted"}`)
	st := state()
	for _, tt := range []struct {
		sent      *policy.SentSettings
		workspace string
	}{
		{nil, "/code/proj/sub"},
		{&policy.SentSettings{Workspace: "/code/proj/sub"}, "/code/proj/sub"},
		{&policy.SentSettings{CwdWithin: "/code/proj"}, "/code/proj"},
	} {
		want := policy.Thread{ID: "T", Workspace: tt.workspace, Cwd: "/code/proj/sub", Sandbox: "workspace-write", SandboxSummary: "workspace-write", Approval: json.RawMessage(`"untrusted"`), RerunsOutside: true, Rollout: "/r"}
		got, err := policy.NewThread(tt.sent, answer, st)
		if err != nil || !cmp.Equal(*got, want) {
			t.Errorf("%+v: %+v, %v", tt.sent, got, err)
		}
	}
	for _, text := range []string{`{}`, `{"thread":{"id":"T"}}`, `{"thread":{"id":"T"},"cwd":"x"}`, `{"thread":{"id":7},"cwd":"/x"}`} {
		if got, err := policy.NewThread(nil, value(t, text), st); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if mode := policy.SandboxMode(value(t, `{"type":"cloud"}`)); mode != "danger-full-access" {
		t.Error(mode)
	}
}

func TestParseDefaultsRefuses(t *testing.T) {
	for _, text := range []string{
		`null`, `{}`, `{"config":[]}`,
		`{"config":{"sandbox_mode":{"danger-full-access":{}}}}`,
		`{"config":{"model":7}}`,
		`{"config":{"sandbox_workspace_write":[]}}`,
		`{"config":{"sandbox_workspace_write":{"network_access":"on"}}}`,
		`{"config":{"sandbox_workspace_write":{"writable_roots":"/"}}}`,
		`{"config":{"sandbox_workspace_write":{"writable_roots":[1]}}}`,
	} {
		if d, err := policy.ParseDefaults(value(t, text)); err == nil || d != nil {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
	}
}

func TestDecisionJSON(t *testing.T) {
	p := compile(t, contract())
	for _, tt := range []struct{ line, want string }{
		{
			`{"id":1,"method":"turn/start","params":{"threadId":"T","approvalPolicy":"never"}}`,
			`{"verdict":"rewrite","message":{"id":1,"method":"turn/start","params":{"threadId":"T","approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}}},` +
				`"changes":[{"field":"params.approvalPolicy","rule":"policy.approval","reason":"\"never\" is not in policy.approval [untrusted, on-request]; Codex refuses what the client does not want to be asked about","from":"never","to":{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}}]}`,
		},
		{
			`{"id":1,"method":"turn/start","params":{"threadId":"T"}}`,
			`{"verdict":"pass","message":{"id":1,"method":"turn/start","params":{"threadId":"T"}},"changes":[]}`,
		},
		{
			`{"id":1,"method":"thread/resume","params":{"threadId":"T","path":"/x"}}`,
			`{"verdict":"deny","changes":[],"error":{"code":-32010,"message":"thread/resume: params.path: a thread is opened by its id, not from a path of the client (policy.mode, default); send threadId only",` +
				`"data":{"method":"thread/resume","rule":"policy.mode","reason":"a thread is opened by its id, not from a path of the client","field":"params.path","origin":"default","hint":"send threadId only"}}}`,
		},
	} {
		raw, err := json.Marshal(p.Decide(message(t, tt.line), state()))
		if err != nil || string(raw) != tt.want {
			t.Errorf("%v\ngot  %s\nwant %s", err, raw, tt.want)
		}
	}
}

// TestDecisionKeepsItsBytes checks that a decision stays valid after the parser's next message.
func TestDecisionKeepsItsBytes(t *testing.T) {
	line := []byte(`{"id":1,"method":"thread/start","params":{"approvalPolicy":"never","approvalsReviewer":"user","later":"before"}}`)
	m := message(t, string(line))
	d := compile(t, contract()).Decide(m, state())
	before := marshal(t, d) + string(d.Sent.Reviewer)
	clear(m.Bytes())
	if after := marshal(t, d) + string(d.Sent.Reviewer); after != before {
		t.Errorf("%s\n%s", before, after)
	}
}

func TestTooManyValues(t *testing.T) {
	line := `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[` + strings.Repeat("0,", 1<<18) + `0],"approvalPolicy":"never"}}`
	d := compile(t, contract()).Decide(message(t, line), state())
	if d.Verdict != policy.Deny {
		t.Error(d.Verdict)
	}
}

const plainTurn = `{"method":"turn/start","id":7,"params":{"threadId":"T","input":[{"type":"text","text":"fix the test","text_elements":[]}],` +
	`"cwd":"/code/proj","approvalPolicy":"on-request","sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/code/proj"],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},` +
	`"model":"gpt-5.5","effort":null,"summary":"auto","outputSchema":null}}`

const bareTurn = `{"method":"turn/start","id":7,"params":{"threadId":"T","input":[{"type":"text","text":"fix the test"}],"approvalPolicy":"on-request","model":"gpt-5.5"}}`

// there is a file system without links.
type there struct{}

func (there) Canonical(path string) (string, error)  { return path, nil }
func (there) Follow(path string) (string, error)     { return path, nil }
func (there) Readings(path string) ([]string, error) { return []string{filepath.Clean(path)}, nil }

func TestAllocations(t *testing.T) {
	p, st, m := compile(t, contract()), state(), message(t, bareTurn)
	st.Paths = there{}
	if n := testing.AllocsPerRun(100, func() { p.Decide(m, st) }); n > 3 {
		t.Errorf("%v allocations for a turn that passes", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, bb := range []struct{ name, line string }{
		{"bare", bareTurn},
		{"full", plainTurn},
		{"rewritten", strings.Replace(plainTurn, "on-request", "never", 1)},
		{"start", `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","approvalPolicy":"on-request","sandbox":"workspace-write","config":{"model":"gpt-5.5"}}}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p, st, m := compile(b, contract()), state(), message(b, bb.line)
			st.Paths = there{}
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(m, st)
			}
		})
	}
}

// TestSummarizeSandbox checks that sandboxes with different rights have different summaries.
func TestSummarizeSandbox(t *testing.T) {
	for _, tt := range []struct{ sandbox, profile, want string }{
		{`{"type":"readOnly","networkAccess":false,"other":1}`, `null`, "read-only"},
		{`{"type":"readOnly","networkAccess":true}`, `null`, "read-only, network"},
		{`{"type":"workspaceWrite","writableRoots":["/b","/a"],"networkAccess":false,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true}`, `{"id":"codex-bridge"}`,
			`workspace-write, profile "codex-bridge", without $TMPDIR, without /tmp, writes "/a", writes "/b"`},
		{`{"type":"dangerFullAccess"}`, `null`, "danger-full-access"},
		{`{"type":"externalSandbox","networkAccess":"enabled"}`, `null`, "externalSandbox, network"},
		{`null`, `null`, ""},
	} {
		if got := policy.SummarizeSandbox(value(t, tt.sandbox), value(t, tt.profile)); got != tt.want {
			t.Errorf("%s: %q", tt.sandbox, got)
		}
	}
}
