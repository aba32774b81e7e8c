package policy_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// TestMethodNeedsConsent checks that with policy.methods = "ask" a request is refused until a
// person consents, and then decided as with "allow".
func TestMethodNeedsConsent(t *testing.T) {
	cfg := contract()
	cfg.Methods = map[string]string{"thread/name/set": "ask", "process/spawn": "ask", "thread/start": "ask", "new/method": "ask", "fs/writeFile": "deny"}
	cfg.Rules = []config.Rule{{Tool: "shell", Command: "git push **", Decision: "deny", Reason: "no"}}
	p := compile(t, cfg)
	for _, test := range []struct {
		method, params string
		asks           bool
		consented      policy.Verdict
	}{
		{"thread/name/set", `{"threadId":"T","name":"x"}`, true, policy.Pass},
		{"process/spawn", `{"command":["ls"]}`, true, policy.Pass},
		{"process/spawn", `{"command":["git","push"]}`, true, policy.Deny},
		{"thread/start", `{"cwd":"/code/proj","sandbox":"danger-full-access","approvalPolicy":"untrusted","approvalsReviewer":"user"}`, true, policy.Rewrite},
		{"new/method", `{}`, true, policy.Pass},
		{"fs/writeFile", `{}`, false, policy.Deny},
	} {
		m := message(t, `{"method":"`+test.method+`","id":1,"params":`+test.params+`}`)
		if p.NeedsConsent(m) != test.asks {
			t.Errorf("%s asks: %v", test.method, !test.asks)
		}
		state := state()
		if d := p.Decide(m, state); d.Verdict != policy.Deny {
			t.Errorf("%s without consent: %s", test.method, d.Verdict)
		}
		state.Consented = true
		if d := p.Decide(m, state); d.Verdict != test.consented {
			t.Errorf("%s %s with consent: %s %+v, want %s", test.method, test.params, d.Verdict, d.Err, test.consented)
		}
	}
	cfg.Mode = config.Audit
	if compile(t, cfg).NeedsConsent(message(t, `{"method":"thread/name/set","id":1,"params":{}}`)) {
		t.Error("audit asks a person")
	}
}

// TestDeniesMethod checks that only a method in policy.methods is denied by it, and a method of the bridge also by "ask",
// in each mode: a policy test reads the file of an audit as if it were enforced.
func TestDeniesMethod(t *testing.T) {
	cfg := contract()
	cfg.Methods = map[string]string{"bridge/search": "deny", "bridge/explain": "allow", "thread/name/set": "ask", "bridge/turn/run": "ask"}
	cfg.Mode = config.Audit
	p := compile(t, cfg)
	for method, want := range map[string]bool{"bridge/search": true, "bridge/turn/run": true, "bridge/explain": false, "thread/name/set": false, "bridge/other": false, "fs/writeFile": false} {
		if got := p.DeniesMethod(method); got != want {
			t.Errorf("%s: %v", method, got)
		}
	}
}
