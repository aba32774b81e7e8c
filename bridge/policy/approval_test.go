package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

const reducedApproval = `{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}`

// A resume or fork without approvalPolicy gets the thread's own, or a stricter one.
func TestOmittedApprovalOfStoredThread(t *testing.T) {
	for _, test := range []struct {
		name      string
		approvals []string
		gate      bool
		stored    string // "": Codex does not know the thread
		defaults  string // approval_policy of Codex's configuration
		overlay   string // the request's config
		sent      string // "": the field stays away
		gated     bool
		refused   bool
	}{
		{name: "an allowed never stays", approvals: []string{"on-request", "never"}, stored: `"never"`},
		{name: "untrusted stays", approvals: []string{"on-request", "untrusted"}, stored: `"untrusted"`},
		{name: "the gate asks in place of untrusted", approvals: []string{"on-request"}, gate: true, stored: `"untrusted"`, sent: `"on-request"`, gated: true},
		{name: "nothing is as strict as untrusted", approvals: []string{"on-request"}, stored: `"untrusted"`, refused: true},
		{name: "on-request becomes the first value", approvals: []string{"untrusted", "on-request"}, gate: true, stored: `"on-request"`, sent: `"on-request"`, gated: true},
		{name: "a forbidden never", approvals: []string{"on-request"}, stored: `"never"`, sent: reducedApproval},
		{name: "a thread without an approval policy takes Codex's default", approvals: []string{"on-request"}, stored: `null`, defaults: `"never"`, sent: reducedApproval},
		{name: "an allowed default", approvals: []string{"on-request", "never"}, stored: `null`, defaults: `"never"`},
		{name: "an unknown thread", approvals: []string{"on-request"}, sent: reducedApproval},
		{name: "an unreadable approval policy", approvals: []string{"on-request"}, stored: `{}`, sent: reducedApproval},
		{name: "the overlay asks for untrusted in vain", approvals: []string{"on-request"}, stored: `"on-request"`, overlay: `{"approval_policy":"untrusted"}`, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, st := contract(), state()
			cfg.Approval, cfg.Gate = test.approvals, test.gate
			st.Thread, st.ThreadFolder, st.StoredSandbox = nil, "/code/proj", &policy.SandboxSettings{Mode: "read-only"}
			st.StoredApproval, st.UnknownThread = nil, test.stored == ""
			if test.stored != "" {
				st.StoredApproval = json.RawMessage(test.stored)
			}
			if test.defaults != "" {
				st.Defaults = &policy.Defaults{Approval: json.RawMessage(test.defaults)}
			}
			for _, method := range []string{"thread/resume", "thread/fork"} {
				overlay := ""
				if test.overlay != "" {
					overlay = `,"config":` + test.overlay
				}
				d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"`+overlay+`}}`), st)
				checkApproval(t, method, d, test.sent, test.gated, test.refused)
			}
		})
	}
}

// checkApproval checks the approval policy that Codex gets, "" for none, and whether the bridge asks in its place.
func checkApproval(t *testing.T, method string, d policy.Decision, sent string, gated, refused bool) {
	t.Helper()
	if refused != (d.Err != nil) {
		t.Errorf("%s: error %v", method, d.Err)
	}
	if d.Err != nil {
		return
	}
	m, err := rpc.ParseMessage(d.Message)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Params.Get("approvalPolicy").Raw()); got != sent || gated != (d.Gated != nil && *d.Gated) {
		t.Errorf("%s: Codex gets %q, gated %v", method, got, d.Gated)
	}
}

// A fork keeps the thread's approval policy where Codex would, even if its overlay has another one.
func TestForkKeepsApprovalBesideOverlay(t *testing.T) {
	for stored, sent := range map[string]string{`"untrusted"`: "", `"never"`: reducedApproval, `"on-request"`: reducedApproval} {
		cfg, st := contract(), state()
		cfg.Approval = []string{"on-request", "untrusted"}
		st.Thread, st.ThreadFolder, st.StoredSandbox = nil, "/code/proj", &policy.SandboxSettings{Mode: "read-only"}
		st.StoredApproval = json.RawMessage(stored)
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/fork","params":{"threadId":"T","config":{"approval_policy":"never"}}}`), st)
		m, err := rpc.ParseMessage(d.Message)
		if err != nil {
			t.Fatalf("%v %v", err, d.Err)
		}
		if got := string(m.Params.Get("approvalPolicy").Raw()); got != sent {
			t.Errorf("%s: Codex gets %q", stored, got)
		}
	}
}

// In a project that the user's configuration marks untrusted, Codex asks about each command, also where
// the policy leaves trust to Codex.
func TestDefaultApprovalOfUntrustedProject(t *testing.T) {
	for _, trust := range []string{"codex", "user", "never"} {
		cfg, st := contract(), state()
		cfg.ProjectTrust, cfg.Approval = trust, []string{"never"}
		st.Thread = nil
		defaults, err := policy.ParseDefaults(value(t, `{"config":{"projects":{"/code/proj":{"trust_level":"untrusted"}}},"layers":[{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":{"projects":{"/code/proj":{"trust_level":"untrusted"}}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		st.Defaults = defaults
		if trust == "codex" {
			defaults.Cwd = "/code/proj"
		}
		if d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st); d.Err == nil || !strings.Contains(d.Err.Message, "untrusted") {
			t.Errorf("%s: Codex gets %s, error %v", trust, d.Message, d.Err)
		}
	}
}

// Where entries of Codex's projects differ, the first that applies decides between untrusted and on-request.
// A policy that forbids on-request does not leave it to that.
func TestDefaultApprovalOfProjectsThatDiffer(t *testing.T) {
	const folder, repository = "/code/proj/sub", "/code/proj"
	config := `{"projects":{"` + folder + `":{"trust_level":"trusted"},"` + repository + `":{"trust_level":"untrusted"}}}`
	for _, test := range []struct {
		approvals []string
		sent      string
	}{
		{approvals: []string{"untrusted"}, sent: `"untrusted"`},
		{approvals: []string{"untrusted", "on-request"}},
	} {
		cfg, st := contract(), state()
		cfg.ProjectTrust, cfg.Approval, cfg.Gate = "codex", test.approvals, false
		st.Thread, st.Repositories = nil, repositories{folder: {repository}}
		defaults, err := policy.ParseDefaults(value(t, `{"config":`+config+`,"layers":[{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":`+config+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		st.Defaults, defaults.Cwd = defaults, folder
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"`+folder+`"}}`), st)
		checkApproval(t, "thread/start", d, test.sent, false, false)
	}
}

// Codex stores on-request for a thread in which the bridge asks in its place. The record says whether it
// did; without one the bridge asks where the policy lets a client choose that.
func TestRestoredGate(t *testing.T) {
	all := []string{"untrusted", "on-request", "never"}
	yes, no := true, false
	for _, test := range []struct {
		name      string
		approvals []string
		granular  bool
		noGate    bool
		stored    string
		record    *bool
		sent      string // "": the field stays away
		gated     bool
		refused   bool
	}{
		{name: "asked", approvals: []string{"on-request", "untrusted"}, stored: `"on-request"`, record: &yes, sent: `"on-request"`, gated: true},
		{name: "not asked", approvals: []string{"on-request", "untrusted"}, stored: `"on-request"`, record: &no, sent: `"on-request"`},
		{name: "not asked, untrusted first", approvals: []string{"untrusted", "on-request"}, noGate: true, stored: `"on-request"`, record: &no, sent: `"on-request"`},
		{name: "no record, no gate, untrusted first", approvals: []string{"untrusted", "on-request"}, noGate: true, stored: `"on-request"`, sent: `"untrusted"`},
		{name: "no record", approvals: []string{"on-request", "untrusted"}, stored: `"on-request"`, sent: `"on-request"`, gated: true},
		{name: "no record, a policy that allows on-request alone", approvals: []string{"on-request"}, stored: `"on-request"`, sent: `"on-request"`, gated: true},
		{name: "no record, no gate", approvals: []string{"on-request"}, noGate: true, stored: `"on-request"`, sent: `"on-request"`},
		{name: "no record, never first", approvals: []string{"never", "on-request"}, stored: `"on-request"`, sent: `"on-request"`, gated: true},
		{name: "all values, asked", approvals: all, granular: true, stored: `"on-request"`, record: &yes, sent: `"on-request"`, gated: true},
		{name: "all values, not asked", approvals: all, granular: true, stored: `"on-request"`, record: &no},
		{name: "asked, and the gate is gone", approvals: []string{"on-request", "untrusted"}, noGate: true, stored: `"on-request"`, record: &yes, sent: `"untrusted"`},
		{name: "asked, and nothing is as strict", approvals: []string{"on-request"}, noGate: true, stored: `"on-request"`, record: &yes, refused: true},
		{name: "asked, later untrusted with Codex alone", approvals: []string{"untrusted"}, stored: `"untrusted"`, record: &yes, sent: `"on-request"`, gated: true},
		{name: "asked, later never with Codex alone", approvals: []string{"on-request", "never"}, stored: `"never"`, record: &yes},
		{name: "asked without questions", approvals: []string{"on-request"}, granular: true, stored: reducedApproval, record: &yes, sent: reducedApproval, gated: true},
		{name: "no questions", approvals: []string{"untrusted"}, granular: true, stored: reducedApproval, record: &no},
		{name: "no questions, no record", approvals: []string{"untrusted"}, granular: true, stored: reducedApproval, sent: reducedApproval, gated: true},
		{name: "asked without questions, and the gate is gone", approvals: []string{"on-request"}, noGate: true, stored: reducedApproval, record: &yes, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, st := contract(), state()
			cfg.Approval, cfg.Gate = test.approvals, !test.noGate
			if test.granular {
				cfg.Approval = append(slices.Clip(cfg.Approval), "granular")
			}
			st.Thread, st.ThreadFolder, st.StoredSandbox = nil, "/code/proj", &policy.SandboxSettings{Mode: "read-only"}
			st.StoredApproval, st.StoredGate = json.RawMessage(test.stored), test.record
			for _, method := range []string{"thread/resume", "thread/fork"} {
				d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"}}`), st)
				checkApproval(t, method, d, test.sent, test.gated, test.refused)
			}
		})
	}
}

// A resumed thread keeps on-request where the policy's first value is never: with full access Codex runs tools
// of MCP servers under never without a question.
func TestRestoredApprovalIsNotReplacedByNever(t *testing.T) {
	cfg, st := contract(), state()
	cfg.Approval, cfg.Sandbox = []string{"never", "on-request"}, "danger-full-access"
	st.Thread, st.ThreadFolder, st.StoredApproval, st.StoredSandbox = nil, "/code/proj", json.RawMessage(`"on-request"`), &policy.SandboxSettings{Mode: "danger-full-access"}
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T"}}`), st)
	if d.Err != nil || !strings.Contains(string(d.Message), `"approvalPolicy":"on-request"`) {
		t.Errorf("%s, error %v", d.Message, d.Err)
	}
}

// A granular approval policy that the policy does not allow never reaches Codex with its question about leaving
// the sandbox, also where the bridge asks in Codex's place. One without that question stays as it is.
func TestForbiddenGranularIsReduced(t *testing.T) {
	const asks = `{"granular":{"sandbox_approval":true,"rules":false,"mcp_elicitations":true}}`
	const reduced = `{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":true}}`
	for _, gate := range []bool{false, true} {
		for method, params := range map[string]string{"thread/start": `"cwd":"/code/proj"`, "turn/start": `"threadId":"T","input":[]`} {
			cfg := contract()
			if cfg.Gate = gate; !gate {
				cfg.Approval = []string{"on-request"}
			}
			for sent, want := range map[string]string{asks: reduced, reduced: reduced} {
				d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{`+params+`,"approvalPolicy":`+sent+`}}`), state())
				if d.Err != nil || !strings.Contains(string(d.Message), `"approvalPolicy":`+want) || (d.Verdict == policy.Pass) != (sent == want) {
					t.Errorf("%s with %s, gate %t: %v, %s, error %v", method, sent, gate, d.Verdict, d.Message, d.Err)
				}
				if d.Gated == nil || *d.Gated != gate {
					t.Errorf("%s with %s: gated %v, want %t", method, sent, d.Gated, gate)
				}
			}
		}
	}
}

// TestForkWithOverlayApproval checks a fork whose overlay has an approval policy. Codex alone takes the thread's, so
// the overlay counts only where it is stricter: not never with full access, and not in place of the bridge's questions.
func TestForkWithOverlayApproval(t *testing.T) {
	for _, test := range []struct {
		sandbox string
		gated   bool
		want    string // the sent approval policy; "": none
	}{
		{"workspace-write", false, `"never"`},
		{"danger-full-access", false, ``},
		{"workspace-write", true, ``}, // keeps its approval policy, and the gate
	} {
		cfg, st := contract(), state()
		cfg.Approval, cfg.Gate, cfg.Sandbox = []string{"on-request", "never", "untrusted"}, true, test.sandbox
		st.Thread.Approval, st.Thread.Gated, st.Thread.Sandbox = json.RawMessage(`"on-request"`), test.gated, test.sandbox
		st.StoredSandbox = &policy.SandboxSettings{Mode: test.sandbox}
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/fork","params":{"threadId":"T","config":{"approval_policy":"never"}}}`), st)
		has := strings.Contains(string(d.Message), `"approvalPolicy":`+test.want)
		if d.Err != nil || has != (test.want != "") || test.gated && d.Gated != nil && !*d.Gated {
			t.Errorf("%+v: %s, gated %v, error %v", test, d.Message, d.Gated, d.Err)
		}
	}
}

// TestNeverWithFullAccess checks that never does not take the place of an approval policy under which Codex asks about
// tools of MCP servers, where a thread can get full access.
func TestNeverWithFullAccess(t *testing.T) {
	for sandbox, want := range map[string]string{
		"workspace-write":    `"never"`,
		"danger-full-access": `{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":true}}`,
	} {
		cfg := contract()
		cfg.Approval, cfg.Sandbox = []string{"never"}, sandbox
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"`+sandbox+`","approvalPolicy":"on-request"}}`), state())
		if d.Err != nil || !strings.Contains(string(d.Message), `"approvalPolicy":`+want) {
			t.Errorf("%s: %s, error %v", sandbox, d.Message, d.Err)
		}
	}
}
