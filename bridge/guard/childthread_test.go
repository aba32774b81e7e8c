package guard

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// A subagent's thread has the settings of its turn in Codex's file. Under audit any settings count,
// under enforce only those that the policy allows, and without a policy none.
func TestThreadOfSubagent(t *testing.T) {
	const child = "01900000-0000-7000-8000-000000000002"
	for name, test := range map[string]struct {
		mode              config.Mode
		sandbox, approval string
		reruns            bool // of the parent
		want              bool
		wantReruns        bool
	}{
		"as the policy allows":              {config.Enforce, "read-only", "on-request", false, true, false},
		"the parent's commands may leave":   {config.Enforce, "read-only", "on-request", true, true, true},
		"its own commands may leave":        {config.Audit, "read-only", "on-failure", false, true, true},
		"another sandbox":                   {config.Enforce, "danger-full-access", "on-request", false, false, false},
		"another sandbox, only for the log": {config.Audit, "danger-full-access", "on-request", false, true, false},
		"no policy":                         {config.Off, "read-only", "on-request", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, func(p *config.Policy) { p.Mode, p.Models, p.ProjectTrust = test.mode, nil, "codex" })
			w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+child+".jsonl",
				`{"type":"session_meta","payload":{"session_id":"t","id":"`+child+`","parent_thread_id":"t","cwd":"`+w.root+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"t","depth":1}}},"thread_source":"subagent"}}`+"\n"+
					`{"type":"turn_context","payload":{"turn_id":"u","cwd":"`+w.root+`","approval_policy":"`+test.approval+`","approvals_reviewer":"user","model":"gpt-5.5","sandbox_policy":{"type":"`+test.sandbox+`","network_access":false}}}`+"\n")
			w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{ID: "t", Workspace: w.root, Sandbox: test.sandbox, RerunsOutside: test.reruns}}})
			got := w.g.threadFor(child, "u")
			if (got != nil) != test.want || got != nil && (got.RerunsOutside != test.wantReruns || got.Sandbox != test.sandbox || got.Workspace != w.root) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
