package policy_test

import (
	"strings"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// decided is a decision that results in a message.
func decided(line string, changes ...policy.Change) policy.Decision {
	d := policy.Decision{Verdict: policy.Pass, Message: []byte(line), Changes: changes}
	if len(changes) > 0 {
		d.Verdict = policy.Rewrite
	}
	return d
}

// DecideTogether asks each enforced policy until none changes the message.
func TestDecideTogether(t *testing.T) {
	enforced := func(approval string) *policy.Policy {
		cfg := contract()
		cfg.Approval = []string{approval}
		return compile(t, cfg)
	}
	one, two := enforced("untrusted"), enforced("on-request")
	auditCfg := contract()
	auditCfg.Mode = config.Audit
	audit := compile(t, auditCfg)
	const a, b = `{"id":1,"method":"turn/start","params":{"a":1}}`, `{"id":1,"method":"turn/start","params":{"b":1}}`
	change := func(reason, origin string) policy.Change {
		return policy.Change{Field: "params.a", Rule: "policy.sandbox", Reason: reason, Origin: origin}
	}
	refusal := rpc.Errorf(rpc.CodeRefused, "no")
	for _, test := range []struct {
		name     string
		policies []*policy.Policy
		first    policy.Decision
		decide   func(p *policy.Policy, line string) policy.Decision // nil: must not be called
		verdict  policy.Verdict
		message  string // of the result, or a part of the error
		changes  int
	}{
		{"one policy", []*policy.Policy{one}, decided(b), nil, policy.Pass, b, 0},
		{"the other one is not enforced", []*policy.Policy{one, audit}, decided(b), nil, policy.Pass, b, 0},
		{"the first one is not enforced", []*policy.Policy{audit, one, two}, decided(b), nil, policy.Pass, b, 0},
		{"denied at first", []*policy.Policy{one, two}, policy.Decision{Verdict: policy.Deny, Err: refusal}, nil, policy.Deny, "no", 0},
		{"no change", []*policy.Policy{one, two}, decided(a), func(_ *policy.Policy, line string) policy.Decision { return decided(line) }, policy.Pass, a, 0},
		{"changed by the first", []*policy.Policy{one, two}, decided(a, change("x", "")), func(_ *policy.Policy, line string) policy.Decision { return decided(line) }, policy.Rewrite, a, 1},
		{"changed by the second", []*policy.Policy{one, two}, decided(a), func(p *policy.Policy, line string) policy.Decision {
			if p == two && line == a {
				return decided(b, change("x", ""))
			}
			return decided(line)
		}, policy.Rewrite, b, 1},
		{"denied by the second", []*policy.Policy{one, two}, decided(a), func(p *policy.Policy, line string) policy.Decision {
			return policy.Decision{Verdict: policy.Deny, Err: refusal}
		}, policy.Deny, "no", 0},
		{"each changes the other's", []*policy.Policy{one, two}, decided(a, change("it wants a", "file 1")), func(p *policy.Policy, line string) policy.Decision {
			if p == one {
				return decided(a, change("it wants a", "file 1"))
			}
			return decided(b, change("it wants b", "file 2"))
		}, policy.Deny, "contradict each other: it wants a; and then it wants b (file 2)", 0},
		{"each changes the other's, without a record", []*policy.Policy{one, two}, decided(a), func(p *policy.Policy, line string) policy.Decision {
			if p == one {
				return decided(a)
			}
			return decided(b)
		}, policy.Deny, "contradict each other: each changes the message of the other", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := policy.DecideTogether(test.policies, test.first, func(p *policy.Policy, m *rpc.Message, _ []*policy.Policy) policy.Decision {
				if test.decide == nil {
					t.Fatal("a policy is asked")
				}
				return test.decide(p, string(m.Bytes()))
			})
			got := string(d.Message)
			if d.Err != nil {
				got = d.Err.Message
			}
			if d.Verdict != test.verdict || got != test.message && (d.Err == nil || !strings.Contains(got, test.message)) || len(d.Changes) != test.changes {
				t.Errorf("verdict %v, %s, %d changes", d.Verdict, got, len(d.Changes))
			}
		})
	}
}
