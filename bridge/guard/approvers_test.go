package guard_test

import (
	"fmt"
	"reflect"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
)

// Codex's question about a command of a rule with approvers reaches the client once, and only after the
// approvers have approved the call. It is declined for another call, and for a part of the call.
func TestCodexAsksAfterApproval(t *testing.T) {
	const text = "[policy]\nsandbox = \"read-only\"\nescalation = \"ask\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n" +
		"[[policy.rule]]\ncommand = \"make\"\ndecision = \"ask\"\napprovers = \"release\"\nreason = \"Two people build.\"\n" +
		"[approvals.desk.groups.release]\nkeys = [\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\"]\n"
	c, g, w := withRollout(t, text, &book{}, "untrusted")
	g.SetKnowsBridge(func() bool { return true }) // no warnings
	if refusal := g.StartCall(t.Context(), "t1", "u", "outside", "", []byte("call")); refusal != "" {
		t.Fatal(refusal)
	}
	use := bash(t, "make", w.StartFolder)
	use.ID = "outside"
	r := g.Tool(t.Context(), "t1", "u", use, []byte("call"))
	if r.Refusal != "" || r.Approvers == nil || !reflect.DeepEqual(r.Approvers.Groups, []config.Quorum{{Group: "release", Count: 1}}) || !r.Approvers.Leaves {
		t.Fatalf("%+v", r)
	}
	n := 10
	ask := func(name, item, more string, reaches bool) {
		t.Helper()
		n++
		want := fmt.Sprintf(`codex< {"id":%d,"result":{"decision":"decline"}}`, n)
		if reaches {
			want = fmt.Sprintf(`editor< {"id":%d,"method":"item/commandExecution/requestApproval","params":"$p%[1]d"}
editor> {"id":%[1]d,"result":{"decision":"accept"}}
codex< {"id":%[1]d,"result":{"decision":"accept"}}`, n)
		}
		c.Play(name, fmt.Sprintf(`codex> {"id":%d,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u","itemId":%q,"startedAtMs":0,"command":"make","cwd":"$start"%s}}`+"\n%s\n", n, item, more, want))
	}
	ask("not approved", "outside", "", false)
	g.Approve("t1", "u", "outside", true)
	ask("another call", "inside", "", false)
	ask("a part of the call", "outside", `,"approvalId":"a"`, false)
	ask("approved", "outside", "", true)
	ask("once", "outside", "", false)
	g.Approve("t1", "u", "never started", true)
	ask("a call that was not started", "never started", "", false)
	g.Approve("t1", "u", "outside", false)
	ask("approved inside", "outside", "", false)
}

// Under audit the bridge asks no approvers.
func TestApproversUnderAudit(t *testing.T) {
	const text = "[policy]\nmode = \"audit\"\n[[policy.rule]]\ncommand = \"make\"\ndecision = \"ask\"\napprovers = \"release\"\n" +
		"[approvals.desk.groups.release]\nkeys = [\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\"]\n"
	_, g, w := withRollout(t, text, &book{}, "on-request")
	if r := g.Tool(t.Context(), "t1", "u", bash(t, "make", w.StartFolder), []byte("call")); !reflect.DeepEqual(r, guard.Ruling{}) {
		t.Errorf("%+v", r)
	}
}
