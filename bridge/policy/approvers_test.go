package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
)

// twoPeople asks two people about deploy, and outside the sandbox about make.
func twoPeople(mode config.Mode) config.Policy {
	cfg := contract()
	cfg.Mode, cfg.Gate, cfg.Escalation, cfg.Approval = mode, true, "ask", []string{"untrusted", "on-request", "never"}
	cfg.Rules = []config.Rule{
		{Command: "deploy **", Decision: "ask", Approvers: "release", Reason: "Two people deploy."},
		{Command: "make **", Decision: "allow"}, {Command: "make **", Decision: "ask", Approvers: "release"},
	}
	return cfg
}

// A tool call needs the approvers of the rules inside and outside the sandbox, also if Codex asks the person.
func TestToolCallNeedsApprovers(t *testing.T) {
	for _, test := range []struct {
		name, command, approval string
		escalated               bool
		mode                    config.Mode
		verdict                 policy.Verdict
		ask                     bool
		approvers               []string
	}{
		{"by a rule", "deploy x", "on-request", false, config.Enforce, policy.Pass, true, []string{"release"}},
		{"codex asks the person", "deploy x", "untrusted", false, config.Enforce, policy.Pass, false, []string{"release"}},
		{"codex asks about an escalation", "deploy x", "on-request", true, config.Enforce, policy.Pass, false, []string{"release"}},
		{"no person", "deploy x", "never", false, config.Enforce, policy.Deny, false, nil},
		{"outside only", "make x", "on-request", false, config.Enforce, policy.Pass, false, []string{"release"}},
		{"another", "ls", "on-request", false, config.Enforce, policy.Pass, false, nil},
		{"audit", "deploy x", "on-request", false, config.Audit, policy.Pass, true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := state()
			st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"` + test.approval + `"`)}
			if st.Escalation = rules.Sandboxed; test.escalated {
				st.Escalation, st.EscalationRequested = rules.Escalated, true
			}
			input := value(t, `{"command":"`+test.command+`"}`)
			d := toolcall.Decide(compile(t, twoPeople(test.mode)), toolcall.Call{ID: "c", Name: "Bash", Input: input, Cwd: "/code/proj", Shell: "bash"}, st)
			var approvers []string
			for _, q := range d.Approvers {
				approvers = append(approvers, q.String())
			}
			if d.Verdict != test.verdict || d.Ask != test.ask || !slices.Equal(approvers, test.approvers) {
				t.Errorf("%s, asks %v, approvers %v", d.Verdict, d.Ask, d.Approvers)
			}
			if d.Approvers != nil && d.ApproversRule.Approvers != "release" {
				t.Errorf("the rule is %+v", d.ApproversRule)
			}
		})
	}
}

// A question of Codex reaches the client only after the approvers, and an approval inside the sandbox does
// not count outside. The client's answer is judged in the same way.
func TestQuestionNeedsApprovers(t *testing.T) {
	const method = "item/commandExecution/requestApproval"
	p := compile(t, twoPeople(config.Enforce))
	for _, test := range []struct {
		approved policy.Approval
		e        rules.Escalation
		denied   bool
	}{
		{policy.NotApproved, rules.Sandboxed, true},
		{policy.NotApproved, rules.Escalated, true},
		{policy.ApprovedInside, rules.Sandboxed, false},
		{policy.ApprovedInside, rules.Escalated, true},
		{policy.ApprovedInside, rules.EscalationUnknown, true},
		{policy.ApprovedOutside, rules.Escalated, false},
		{policy.ApprovedOutside, rules.Sandboxed, false},
	} {
		st := state()
		st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`)}
		st.Approved, st.Escalation = test.approved, test.e
		params := value(t, `{"threadId":"T","turnId":"u","itemId":"i","startedAtMs":0,"command":"deploy x","cwd":"/code/proj"}`)
		d := serverrequest.Decide(p, method, params, st)
		if (d.Verdict == policy.Deny) != test.denied {
			t.Errorf("approved %d, escalation %d: %s", test.approved, test.e, d.Verdict)
		}
		if r := d.Refusal(); test.denied && (r.Rule != "policy.rule.approvers" || !strings.HasPrefix(r.Reason, "Two people deploy (approvers release): a member of release must approve it") || string(d.Answer) != `{"decision":"decline"}`) {
			t.Errorf("%+v, %s", r, d.Answer)
		}
		d = serverrequest.DecideAnswer(p, serverrequest.Request{Method: method, Params: params}, message(t, `{"id":1,"result":{"decision":"accept"}}`), st)
		if accepted := strings.Contains(string(d.Message), `"accept"`); accepted == test.denied {
			t.Errorf("approved %d, escalation %d: the answer is %s", test.approved, test.e, d.Message)
		}
	}
	d := serverrequest.Decide(p, "execCommandApproval", value(t, `{"conversationId":"T","callId":"i","command":["deploy","x"],"cwd":"/code/proj","parsedCmd":[]}`), state())
	if d.Verdict != policy.Deny {
		t.Errorf("an older question: %s", d.Verdict)
	}
}

// A refusal names how many must approve, and of two policies the one that needs fewer is looser.
func TestCountOfApprovers(t *testing.T) {
	within := func(count int) (*policy.Policy, policy.Decision) {
		cfg := twoPeople(config.Enforce)
		cfg.Rules = append(cfg.Rules, config.Rule{Command: "mkdir **", Decision: "ask", Approvers: "security"})
		cfg.Rules[0].ApproverCount = count
		p := compile(t, cfg)
		command := "mkdir x; deploy x"
		return p, toolcall.DecideAgent(p, "session/request_permission", toolcall.AgentRequest{Command: &command, Cwd: "/w", OwnBridge: true}, policy.State{Paths: plainPaths{}})
	}
	_, d := within(3)
	if r := d.Refusal(); !strings.Contains(r.Reason, ": 3 members of release and a member of security must approve it") {
		t.Errorf("%+v", r)
	}
	effect := func(count int, group string) replay.Recomputed {
		return replay.Recomputed{Effect: replay.NeedsApprovers, Approvers: []config.Quorum{{Group: group, Count: count}}}
	}
	if two, one := effect(2, "release"), effect(1, "release"); !one.IsLooser(two) || two.IsLooser(one) || !two.IsTighter(one) || two.IsSame(one) {
		t.Error("fewer approvers are not looser")
	}
	if two, other := effect(2, "release"), effect(3, "security"); !two.IsLooser(other) || !other.IsLooser(two) {
		t.Error("another group is not looser")
	}
}

// The bridge asks no approvers about agents.
func TestAgentNeedsApprovers(t *testing.T) {
	deploy := "mkdir x; deploy x"
	d := toolcall.DecideAgent(compile(t, twoPeople(config.Enforce)), "session/request_permission", toolcall.AgentRequest{Command: &deploy, Files: []string{"/w/a"}, Cwd: "/w", OwnBridge: true}, policy.State{Paths: plainPaths{}})
	if r := d.Refusal(); d.Verdict != policy.Deny || r.Rule != "policy.rule.approvers" || d.Answer != nil {
		t.Errorf("%s, %+v", d.Verdict, r)
	}
}
