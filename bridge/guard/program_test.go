package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/rpc"
)

// A program may go on when Codex has unloaded its thread. Then each policy counts that a thread has had.
func TestProgramOfUnloadedThread(t *testing.T) {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Rules = config.Enforce, []config.Rule{{Command: "git push **", Decision: "deny"}}
	denying, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for mode, change := range map[string]func(*config.Policy){
		"enforce": nil, "audit": func(p *config.Policy) { p.Mode = config.Audit }, "off": func(p *config.Policy) { p.Mode = config.Off },
	} {
		w := newAgentWorld(t, change)
		w.g.threads.recordSent("", []*policy.Policy{denying})
		for _, thread := range []string{"", "unloaded"} {
			for verb, refused := range map[string]bool{"push": true, "log": false} {
				start := supervise.Start{Programs: []supervise.Program{{Path: "/usr/bin/git", Args: []string{"git", verb}}}}
				r, _ := w.g.Program(t.Context(), supervise.Call{Thread: thread}, toolcall.Call{}, start)
				if r.Refusal != "" != refused {
					t.Errorf("%s, thread %q, git %s: the refusal is %q", mode, thread, verb, r.Refusal)
				}
				if r, _ := w.g.RefuseProgram(t.Context(), supervise.Call{Thread: thread}, start, "too many wait", "run it again"); r.Refusal == "" {
					t.Errorf("%s, thread %q: not refused for another reason", mode, thread)
				}
			}
		}
	}
}

// An accepted request of Codex counts for the programs of its own call alone, and only that request.
func TestProgramOfAnAcceptedRequest(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) {
		p.Approval, p.Escalation, p.Rules = []string{"on-request"}, "ask", []config.Rule{{Command: "git push **", Decision: "ask"}}
	})
	w.g.SetProgramStarts(func() bool { return true })
	w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{ID: "t", Workspace: w.root, Sandbox: "workspace-write", Approval: []byte(`"on-request"`)}}})
	for _, id := range []string{"c", "other"} {
		w.g.calls.start(turnOf{"t", "u"}, id)
		w.g.calls.set(turnOf{"t", "u"}, id, rollout.Call{Escalation: rules.Escalated, Requested: true})
		w.g.JudgedCall("t", "u", toolcall.Call{ID: id, Name: "Bash", Input: value(t, `{"command":"git push"}`)})
	}
	asks := func(id string) bool {
		start := supervise.Start{Programs: []supervise.Program{{Path: "/usr/bin/git", Args: []string{"git", "push"}}}}
		r, _ := w.g.Program(t.Context(), supervise.Call{Thread: "t", Turn: "u", ID: id}, toolcall.Call{}, start)
		return r.Ask
	}
	request := func(id int, item string) *rpc.Envelope {
		e, err := rpc.ParseEnvelope(fmt.Appendf(nil, `{"id":%d,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u","itemId":%q,"cwd":%q,"command":"/bin/bash -lc 'git push'"}}`, id, item, w.root))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	asked := request(1, "c")
	w.g.offerCommands(w.g.policies("t"), asked, w.g.currentState(asked.Root().Get("params")))
	if w.g.AcceptedByPerson(request(2, "c")); !asks("c") {
		t.Error("another request counts")
	}
	if w.g.AcceptedByPerson(asked); asks("c") {
		t.Error("the program is asked about again")
	}
	if !asks("other") {
		t.Error("the answer counts for another call")
	}
}

// The basis of a decision changes with the rules that ask, their approvers and the exceptions, and not with their places.
func TestBasisOfProgram(t *testing.T) {
	basis := func(rules ...config.Rule) *policy.Basis {
		w := newAgentWorld(t, func(p *config.Policy) { p.Approval, p.Rules = []string{"on-request"}, rules })
		w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{ID: "t", Workspace: w.root, Sandbox: "workspace-write", Approval: []byte(`"on-request"`)}}})
		start := supervise.Start{Programs: []supervise.Program{{Path: "/usr/bin/git", Args: []string{"git", "push"}}}}
		r, _ := w.g.Program(t.Context(), supervise.Call{Thread: "t", Turn: "u", ID: "c"}, toolcall.Call{}, start)
		return r.Basis
	}
	ask := config.Rule{Command: "git push **", Decision: "ask"}
	with := func(change func(*config.Rule)) config.Rule { r := ask; change(&r); return r }
	want := basis(ask)
	if got := basis(config.Rule{Command: "ls", Decision: "allow"}, with(func(r *config.Rule) { r.Origin.Line = 9 })); !got.Equal(want) {
		t.Errorf("the same rule has the bases %+v and %+v", want, got)
	}
	seen := map[string]*policy.Basis{"the rule": want}
	for name, rules := range map[string][]config.Rule{
		"no rule": nil, "another reason": {with(func(r *config.Rule) { r.Reason = "x" })}, "approvers": {with(func(r *config.Rule) { r.Approvers = "release" })},
		"more approvers": {with(func(r *config.Rule) { r.Approvers, r.ApproverCount = "release", 2 })},
		"another rule":   {{Command: "git **", Decision: "ask"}}, "an exception": {{Command: "/usr/bin/git push", Decision: "allow", Escalated: true, Ticket: "OPS-7"}, ask},
	} {
		got := basis(rules...)
		for other, one := range seen {
			if got.Equal(one) || one.Equal(got) {
				t.Errorf("%s and %s have the basis %+v", name, other, got)
			}
		}
		seen[name] = got
	}
}

// A program that rules ask about does not start when no person can be asked any more, and the user is told.
func TestProgramThatNoPersonIsAskedAbout(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) {
		p.Approval, p.Rules = []string{"on-request"}, []config.Rule{{Command: "git push **", Decision: "ask"}}
	})
	result := value(t, `{"thread":{"id":"t"},"cwd":"`+w.root+`","model":"gpt-5.5","approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false}}`)
	if err := w.g.threads.registerOpened(w.g.Policy, w.g, openedThread{sent: &policy.SentSettings{}, result: result, world: w.g.world, order: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	of, start := supervise.Call{Thread: "t", Turn: "1", ID: "c"}, supervise.Start{Programs: []supervise.Program{{Path: "/usr/bin/git", Args: []string{"git", "push"}}}}
	if r, report := w.g.Program(ctx, of, toolcall.Call{}, start); !r.Ask || r.Refusal != "" || report != nil {
		t.Errorf("control: %+v", r)
	}
	end(errors.New("the turn has ended"))
	if r, report := w.g.Program(ctx, of, toolcall.Call{}, start); r.Ask || !strings.Contains(r.Refusal, "the turn has ended") || report == nil {
		t.Errorf("after the turn: %+v, reported: %v", r, report != nil)
	}
}
