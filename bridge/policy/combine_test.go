package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
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
	one, two, three := enforced("untrusted"), enforced("on-request"), enforced("never")
	auditCfg := contract()
	auditCfg.Mode = config.Audit
	audit := compile(t, auditCfg)
	const (
		a = `{"id":1,"method":"turn/start","params":{"a":1}}`
		b = `{"id":1,"method":"turn/start","params":{"b":1}}`
		c = `{"id":1,"method":"turn/start","params":{"c":1}}`
	)
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
		{"a change that leaves the message as it is", []*policy.Policy{one, two}, decided(a), func(p *policy.Policy, line string) policy.Decision {
			return decided(line, change("x", "")) // counts once, in the first round
		}, policy.Rewrite, a, 1},
		{"denied by the second", []*policy.Policy{one, two}, decided(a), func(p *policy.Policy, line string) policy.Decision {
			return policy.Decision{Verdict: policy.Deny, Err: refusal}
		}, policy.Deny, "no", 0},
		{"each changes the other's", []*policy.Policy{one, two}, decided(a, change("it wants a", "file 1")), func(p *policy.Policy, line string) policy.Decision {
			if p == one {
				return decided(a, change("it wants a", "file 1"))
			}
			return decided(b, change("it wants b", "file 2"))
		}, policy.Deny, "contradict each other: it wants a; and then it wants b (file 2)", 0},
		{"three change each other's", []*policy.Policy{one, two, three}, decided(a), func(p *policy.Policy, line string) policy.Decision {
			switch p {
			case one:
				return decided(a, change("it wants a", ""))
			case two:
				return decided(b, change("it wants b", ""))
			}
			return decided(c, change("it wants c", ""))
		}, policy.Deny, "contradict each other: it wants a; and then it wants b (policy.sandbox); make", 0},
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

// Verify compares the response with the settings of the last policy. The bridge asks in Codex's
// place if one policy wants that. An approval policy that an earlier policy does not compare is not
// compared.
func TestDecideTogetherJoinsSentSettings(t *testing.T) {
	yes, no := true, false
	policies := []*policy.Policy{compile(t, contract()), compile(t, contract())}
	const with, without = `{"id":1,"method":"thread/start","params":{"approvalPolicy":"on-request"}}`, `{"id":1,"method":"thread/start","params":{}}`
	for _, test := range []struct {
		name                  string
		line                  string
		first, second         *policy.SentSettings
		firstGated, thenGated *bool
		approval              string
		gated                 *bool
	}{
		{"both compare the approval policy", with, &policy.SentSettings{Approval: []byte(`"a"`)}, &policy.SentSettings{Approval: []byte(`"b"`)}, nil, nil, `"b"`, nil},
		{"the first one does not", with, &policy.SentSettings{}, &policy.SentSettings{Approval: []byte(`"b"`)}, nil, nil, ``, nil},
		{"the client omits it", without, &policy.SentSettings{}, &policy.SentSettings{Approval: []byte(`"b"`)}, nil, nil, `"b"`, nil},
		{"the first one gates", with, &policy.SentSettings{}, &policy.SentSettings{}, &yes, &no, ``, &yes},
		{"the second one gates", with, &policy.SentSettings{}, &policy.SentSettings{}, &no, &yes, ``, &yes},
		{"none gates", with, &policy.SentSettings{}, &policy.SentSettings{}, &no, &no, ``, &no},
		{"the first one sends nothing", with, nil, &policy.SentSettings{Approval: []byte(`"b"`)}, &yes, &no, `"b"`, &yes},
		{"the second one sends nothing", with, &policy.SentSettings{Approval: []byte(`"a"`)}, nil, &yes, &no, ``, nil},
	} {
		first := decided(test.line)
		first.Sent, first.Gated = test.first, test.firstGated
		d := policy.DecideTogether(policies, first, func(_ *policy.Policy, m *rpc.Message, _ []*policy.Policy) policy.Decision {
			e := decided(string(m.Bytes()))
			e.Gated = test.thenGated
			if test.second != nil {
				sent := *test.second
				e.Sent = &sent
			}
			return e
		})
		if d.Sent == nil {
			if test.second != nil {
				t.Errorf("%s: nothing is compared", test.name)
			}
			continue
		}
		if string(d.Sent.Approval) != test.approval {
			t.Errorf("%s: approval %s, want %s", test.name, d.Sent.Approval, test.approval)
		}
		if got := d.Sent.Gated; (got == nil) != (test.gated == nil) || got != nil && *got != *test.gated {
			t.Errorf("%s: gated %v", test.name, got)
		}
	}
}
