package guard_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
)

// inMode returns a policy with another mode than enforce.
func inMode(mode, text string) string {
	return strings.Replace(text, "[policy]", "[policy]\nmode = \""+mode+"\"", 1)
}

// heard returns the decisions that the client is notified of.
func heard(g *guard.Guard) *[]guard.Applied {
	var all []guard.Applied
	g.OnApplied(func(a guard.Applied) { all = append(all, a) })
	return &all
}

// The active policy answers an agent's request; the decision is logged before, and the client is
// notified. A decision that can't be logged is a denial. Under audit, and without a policy, the
// user is asked.
func TestAgentQuestion(t *testing.T) {
	const rules = `
[policy]
escalation = "ask"
[[policy.rule]]
command = "rm **"
decision = "deny"
[[policy.rule]]
command = "make"
decision = "allow"
escalated = true
`
	broken := errors.New("the disk is full")
	for _, test := range []struct {
		name, policy, command string
		failure               error
		verdict               policy.Verdict
		rule                  string // of the denial
		logged                string // the verdicts
		notified              int
	}{
		{"denied", rules, "rm x", nil, policy.Deny, "policy.rule", "deny", 1},
		{"denied, and not logged", rules, "rm x", broken, policy.Deny, "policy.rule", "", 1},
		{"allowed", rules, "make", nil, policy.Accept, "", "accept", 1},
		{"allowed, and not logged", rules, "make", broken, policy.Deny, "store", "", 1},
		{"no rule", rules, "ls", nil, policy.Pass, "", "", 0},
		{"no rule, and nothing can be logged", rules, "ls", broken, policy.Pass, "", "", 0},
		{"denied under audit", inMode("audit", rules), "rm x", nil, policy.Pass, "", "deny", 0},
		{"allowed under audit", inMode("audit", rules), "make", nil, policy.Pass, "", "accept", 0},
		{"no policy", "", "rm x", nil, policy.Pass, "", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{err: test.failure}
			w := world(t)
			g := guard.New(load(t, test.policy), w, b, slog.New(slog.DiscardHandler))
			notified := heard(g)
			d := g.Agent(t.Context(), toolcall.AgentRequest{Command: &test.command, Cwd: w.StartFolder, RunsIn: w.StartFolder}, "s1", []byte("{}"))
			if d.Verdict != test.verdict || d.Ask != (test.verdict == policy.Pass) {
				t.Errorf("the verdict is %s, asked: %t", d.Verdict, d.Ask)
			}
			rule := ""
			if r := d.Refusal(); r != nil {
				rule = r.Rule
			}
			if rule != test.rule {
				t.Errorf("it is denied by %q", rule)
			}
			if got := verdicts(b); got != test.logged {
				t.Errorf("the log has %q", got)
			}
			for _, e := range b.entries {
				if e.Method != "session/request_permission" || e.Thread != "s1" {
					t.Errorf("the log has %+v", e)
				}
			}
			if len(*notified) != test.notified {
				t.Errorf("the client is notified of %+v", *notified)
			}
		})
	}
}

// A person's yes counts only if it is logged, and if no rule denies the call by then.
func TestAgentAllowedByPerson(t *testing.T) {
	const asks = "[policy]\nescalation = \"ask\"\n"
	const denies = asks + "[[policy.rule]]\ncommand = \"rm **\"\ndecision = \"deny\"\n"
	unsafe := errors.New("commands could write its script")
	for _, test := range []struct {
		name, later, folder string
		failure, unsafe     error // of the decision log, and of the policy file of its folder
		rule, logged        string
	}{
		{"logged", asks, "", nil, nil, "", "accept"},
		{"not logged", asks, "", errors.New("the disk is full"), nil, "store", ""},
		{"denied meanwhile", denies, "", nil, nil, "policy.rule", "deny"},
		{"denied in its folder", asks, denies, nil, nil, "policy.rule", "deny"},
		{"denied in its folder alone", inMode("off", asks), denies, nil, nil, "policy.rule", "deny"},
		{"its folder can't be enforced", asks, asks, nil, unsafe, "policy", "deny"},
		{"its folder alone can't be enforced", inMode("off", asks), asks, nil, unsafe, "policy", "deny"},
		{"audit", inMode("audit", denies), "", nil, nil, "", "deny"},
	} {
		b, w, command := &book{err: test.failure}, world(t), "rm x"
		g := guard.New(load(t, asks), w, b, slog.New(slog.DiscardHandler))
		g.SetPolicy(load(t, test.later))
		g.SetFolderPolicies(func(string) (*policy.Policy, error) {
			if test.folder == "" {
				return nil, nil
			}
			return load(t, test.folder), test.unsafe
		})
		rule := ""
		if err := g.AgentAllowed(t.Context(), toolcall.AgentRequest{Agent: "a", Tool: "execute", Command: &command, Files: []string{"/x"}, Cwd: w.StartFolder, RunsIn: w.StartFolder}, "s1", []byte("{}"), "fine"); err != nil {
			rule = (&policy.Decision{Err: err}).Refusal().Rule
		}
		if rule != test.rule || verdicts(b) != test.logged {
			t.Errorf("%s: refused by %q, the log has %q", test.name, rule, verdicts(b))
		}
		if want := `the user has allowed {"agent":"a","tool":"execute","command":"rm x","files":["/x"],"cwd":"` + w.StartFolder + `"}: fine`; test.logged == "accept" &&
			(b.entries[0].Rule != "approvals.person" || b.entries[0].Reason != want) {
			t.Errorf("%s: the log has %+v", test.name, b.entries[0])
		}
	}
}

// verdicts returns the verdicts of a log, in order.
func verdicts(b *book) string {
	var all []string
	for _, e := range b.entries {
		all = append(all, e.Verdict)
	}
	return strings.Join(all, " ")
}

// The bridge uses only a model that the policy allows, or a replacement. It uses none if the
// decision can't be logged.
func TestModelOfTheBridge(t *testing.T) {
	const (
		replaces = "[policy]\nmodels = [\"gpt-5.5\"]\nefforts = [\"low\"]\n"
		refuses  = "[policy]\nmodels = [\"gpt-*\"]\nefforts = [\"low\"]\n"
	)
	broken := errors.New("the disk is full")
	for _, test := range []struct {
		name, policy, model string
		failure             error
		want                string // the model; "" none
		rule                string // of the refusal
		logged              string
		notified            int
	}{
		{"allowed", replaces, "gpt-5.5", nil, "gpt-5.5", "", "", 0},
		{"allowed, and nothing can be logged", replaces, "gpt-5.5", broken, "gpt-5.5", "", "", 0},
		{"replaced", replaces, "o9", nil, "gpt-5.5", "", "rewrite", 1},
		{"replaced, and not logged", replaces, "o9", broken, "gpt-5.5", "store", "", 1},
		{"refused", refuses, "o9", nil, "", "policy.models", "deny", 1},
		{"refused, and not logged", refuses, "o9", broken, "", "policy.models", "", 1},
		{"refused under audit", inMode("audit", refuses), "o9", nil, "o9", "", "deny", 0},
		{"no policy", "", "o9", nil, "o9", "", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{err: test.failure}
			g := guard.New(load(t, test.policy), world(t), b, slog.New(slog.DiscardHandler))
			notified := heard(g)
			got, err := g.Model(t.Context(), "bridge/image/describe", policy.Model{Name: test.model, Effort: "low"})
			if got.Name != test.want {
				t.Errorf("the model is %q", got.Name)
			}
			rule := ""
			if err != nil {
				rule = (&policy.Decision{Err: err}).Refusal().Rule
			}
			if rule != test.rule {
				t.Errorf("it is refused by %q", rule)
			}
			if got := verdicts(b); got != test.logged {
				t.Errorf("the log has %q", got)
			}
			if len(*notified) != test.notified {
				t.Errorf("the client is notified of %+v", *notified)
			}
			if allows := g.AllowsModel(test.model); allows != (test.model == "gpt-5.5" || !g.Enforces()) {
				t.Errorf("it is allowed: %t", allows)
			}
		})
	}
}

// Sandboxed, Sandbox and Workspace return the values of the verified thread.
func TestSandboxOfThread(t *testing.T) {
	const policy = "[policy]\nsandbox = \"danger-full-access\"\napproval = [\"on-request\"]\nproject_trust = \"codex\"\nprotected_paths = []\n"
	c, g, w := converse(t, policy, guard.NoRecord)
	open := func(thread, sandbox, echoed string) {
		c.Play(thread, `
editor> {"id":"`+thread+`","method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"`+sandbox+`","approvalsReviewer":"user"}}
codex<  {"id":"$config-`+thread+`","method":"config/read","params":"$for"}
codex>  {"id":"$config-`+thread+`","result":{"config":{},"layers":[]}}
codex<  {"id":"`+thread+`","method":"thread/start","params":"$sent-`+thread+`"}
codex>  {"id":"`+thread+`","result":{"thread":{"id":"`+thread+`"},"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":`+echoed+`,"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}
editor< {"id":"`+thread+`","result":"$started-`+thread+`"}
`)
	}
	open("inside", "read-only", `{"type":"readOnly","networkAccess":false}`)
	open("outside", "danger-full-access", `{"type":"dangerFullAccess"}`)
	for _, test := range []struct {
		thread, reach, workspace string
		sandboxed, known         bool
	}{
		{"inside", "read-only", w.StartFolder, true, true},
		{"outside", "danger-full-access", w.StartFolder, false, true},
		{"unknown", "", "", false, false},
	} {
		if got, known := g.Sandboxed(test.thread); got != test.sandboxed || known != test.known {
			t.Errorf("%s is sandboxed: %t, known: %t", test.thread, got, known)
		}
		if got := g.Sandbox(test.thread, "u"); got != test.reach {
			t.Errorf("the sandbox of %s allows %q", test.thread, got)
		}
		if got := g.Workspace(test.thread); got != test.workspace {
			t.Errorf("%s works in %q", test.thread, got)
		}
	}
}
