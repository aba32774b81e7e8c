package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// Without the bundle of the policy source, a client reads, logs in and ends things, and nothing runs, not even
// what the configuration allows.
func TestMissingBundleRefusesWork(t *testing.T) {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Missing, cfg.UnknownMethods = config.Enforce, "no bundle yet", "allow"
	cfg.Methods = map[string]string{"thread/shellCommand": "allow"}
	p := newPolicyOf(t, cfg)
	for row := range methods.Rows() {
		if row.Side != methods.ClientRequest {
			continue
		}
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"` + row.Method + `","params":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(m, policy.State{})
		refused := d.Err != nil && d.Refusal().Rule == "policy_source" && strings.Contains(d.Err.Message, "no bundle yet")
		want := false
		switch row.Class {
		case methods.Read, methods.FileRead, methods.Account, methods.State:
		default:
			want = row.Verdict == methods.Rewrite || row.Verdict == methods.Gate
		}
		if want = want && row.Method != "initialize" || row.Method == "thread/shellCommand"; refused != want {
			t.Errorf("%s: refused for the bundle: %t, want %t: %v", row.Method, refused, want, d.Err)
		}
		if again := p.WithBundle().Decide(m, policy.State{}); again.Err != nil && again.Refusal().Rule == "policy_source" {
			t.Errorf("%s: still refused with the bundle", row.Method)
		}
	}
	unknown, err := rpc.ParseMessage([]byte(`{"id":1,"method":"of/theFuture","params":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Decide(unknown, policy.State{}); d.Err == nil || d.Refusal().Rule != "policy_source" {
		t.Errorf("an unknown method: %v", d.Err)
	}
	if d := p.Decide(unknown, policy.State{}); p.WithBundle().Decide(unknown, policy.State{}).Err != nil {
		t.Errorf("an unknown method with the bundle: %v", d.Err)
	}
	input, err := rpc.ParseValue([]byte(`{"command":"ls"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := toolcall.Decide(p, toolcall.Call{Name: "Bash", Input: input.Root(), Cwd: "/"}, policy.State{}); d.Verdict != policy.Deny {
		t.Errorf("a tool call: %+v", d)
	}
	params, err := rpc.ParseValue([]byte(`{"command":"ls"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := serverrequest.Decide(p, "item/commandExecution/requestApproval", params.Root(), policy.State{}); d.Verdict != policy.Deny || !strings.Contains(string(d.Answer), "decline") {
		t.Errorf("a question: %+v", d)
	}
}

// newPolicyOf compiles a section.
func newPolicyOf(t *testing.T, cfg config.Policy) *policy.Policy {
	t.Helper()
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
