package guard

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// A thread stays open after a refused resume only if Codex's answer has the thread's settings, and
// the policies still allow them. A kept thread keeps its policies and its gate.
func TestThreadAfterRefusedResume(t *testing.T) {
	const answer = `{"thread":{"id":"t"},"cwd":"ROOT","approvalPolicy":"on-request","approvalsReviewer":"user","model":"gpt-5.5","activePermissionProfile":{"id":"codex-bridge","extends":":workspace"},` +
		`"sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}}`
	for _, test := range []struct {
		name     string
		old, new string // a text of the answer, and what it becomes
		forbid   bool   // a policy that the thread keeps does not allow it any more
		kept     bool
	}{
		{name: "the same", kept: true},
		{name: "another sandbox", old: `{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}`, new: `{"type":"dangerFullAccess"}`},
		{name: "a stricter sandbox that was not known", old: `"excludeSlashTmp":false`, new: `"excludeSlashTmp":true`},
		{name: "another cwd", old: `"cwd":"ROOT"`, new: `"cwd":"ROOT/sub"`},
		{name: "another reviewer", old: `"approvalsReviewer":"user"`, new: `"approvalsReviewer":"auto_review"`},
		{name: "without the profile", old: `{"id":"codex-bridge","extends":":workspace"}`, new: `{"id":":workspace"}`},
		{name: "other approvals", old: `"on-request"`, new: `"never"`},
		{name: "a kept policy forbids it", forbid: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newAgentWorld(t, func(p *config.Policy) {
				p.Sandbox, p.Approval, p.WritableRoots = "workspace-write", []string{"on-request"}, []string{"${workspace}"}
			})
			threads, root := &w.g.threads, filepath.Dir(w.write("work/x", ""))
			text := strings.ReplaceAll(answer, "ROOT", root)
			gated := true
			sent := &policy.SentSettings{Method: "thread/start", Workspace: root, Gated: &gated, Profile: policy.Profile{Defined: true}}
			if err := threads.registerOpened(w.g.Policy, w.g, openedThread{sent: sent, result: value(t, text), world: w.g.world, order: 1}); err != nil {
				t.Fatal(err)
			}
			held := *w.g.Policy()
			if test.forbid {
				other, err := policy.New(config.Policy{
					Mode: config.Enforce, Approval: []string{"never"}, Sandbox: "read-only", Reviewers: []string{"user"}, UnknownMethods: "deny", ProjectTrust: "codex", Escalation: "deny",
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				held = *other
			}
			threads.records["t"].extraPolicies = []*policy.Policy{&held}
			text = strings.ReplaceAll(strings.ReplaceAll(answer, cmp.Or(test.old, "ROOT"), cmp.Or(test.new, "ROOT")), "ROOT", root)
			own := *w.g.Policy()
			refused := threads.registerOpened(w.g.Policy, w.g, openedThread{
				sent:   &policy.SentSettings{Method: "thread/resume", Workspace: root + "/other", Profile: policy.Profile{Defined: true}},
				result: value(t, text), world: w.g.world, order: 2, own: []*policy.Policy{&own},
			})
			if refused == nil {
				t.Fatal("the resume is not refused")
			}
			got := threads.peek("t")
			if (got != nil) != test.kept {
				t.Fatalf("it is kept: %v", got != nil)
			}
			if got != nil && (!got.Gated || len(threads.extraPoliciesOf("t")) != 1 || threads.extraPoliciesOf("t")[0] != &held) {
				t.Errorf("gated %v, it keeps %d policies", got.Gated, len(threads.extraPoliciesOf("t")))
			}
		})
	}
}
