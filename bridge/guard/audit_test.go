package guard_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// Under audit the log has the changes of enforce, and nothing else. A turn that enforce would have
// accepted is not logged.
func TestAuditLog(t *testing.T) {
	var log bytes.Buffer
	w := world(t)
	g := guard.New(load(t, "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n"), w, guard.NoRecord,
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	c.Play("audit", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"never","sandbox":"read-only","approvalsReviewer":"user"}}
codex<= {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"never","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"never","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}
editor< {"id":1,"result":"$started"}
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
codex<= {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor> {"id":3,"method":"turn/start","params":{"threadId":"t1","input":[],"sandboxPolicy":{"type":"dangerFullAccess"}}}
codex<= {"id":3,"method":"turn/start","params":{"threadId":"t1","input":[],"sandboxPolicy":{"type":"dangerFullAccess"}}}
`)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "field=params.approvalPolicy") || !strings.Contains(lines[1], "field=params.sandboxPolicy") {
		t.Errorf("the log says\n%s", log.String())
	}
	// A thread that was opened under audit is not verified when the policy is enforced.
	g.SetPolicy(load(t, "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n"))
	c.Play("enforce", `
editor> {"id":4,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":4,"error":{"code":-32013,"message":"<text>","data":"$data"}}
`)
}

// A client that does not know the bridge does not see a denied request of Codex. The log has the
// request, the rule and the hint.
func TestDeniedLog(t *testing.T) {
	var log bytes.Buffer
	g := guard.New(load(t, readOnlyPolicy), world(t), guard.NoRecord, slog.New(slog.NewTextHandler(&log, nil)))
	c := bridgetest.Start(t, g)
	c.Play("denied", `
editor> {"id":2,"method":"model/list","params":{}}
codex<= {"id":2,"method":"model/list","params":{}}
codex>  {"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i"}}
codex<  {"id":0,"result":{"decision":"decline"}}
`)
	for _, want := range []string{"level=INFO", "method=item/fileChange/requestApproval", "verdict=deny", "policy.escalation"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, log.String())
		}
	}
}
