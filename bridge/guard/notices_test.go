package guard_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest"
	"codex-bridge/bridge/guard"
)

// The user learns what the policy took away, once for each thread and kind of change. A client that
// has disabled configWarning, or that knows the bridge, gets none.
func TestNoticesOfChanges(t *testing.T) {
	const policy = "[policy]\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\ngate = false\nproject_trust = \"codex\"\n"
	const opened = `
editor> {"id":$id,"method":"thread/start","params":{"cwd":"$cwd","approvalPolicy":"never","sandbox":"workspace-write","approvalsReviewer":"user","config":{"mcp_servers":{"x":{"command":"evil","env":{"KEY":"secret"}}}}}}
codex<  {"id":$id,"method":"thread/start","params":"$params$id"}
codex>  {"id":$id,"result":{"thread":{"id":"$thread"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}}
editor< {"id":$id,"result":"$result$id"}
`
	const notices = `editor< {"method":"configWarning","params":{"summary":"$1","details":null}}
editor< {"method":"configWarning","params":{"summary":"$2","details":null}}
editor< {"method":"configWarning","params":{"summary":"$3","details":null}}
`
	const turn = `
editor> {"id":$id,"method":"turn/start","params":{"threadId":"$thread","input":[],"approvalPolicy":"never"}}
codex<  {"id":$id,"method":"turn/start","params":{"threadId":"$thread","input":[],"approvalPolicy":"untrusted"}}
codex>  {"id":$id,"result":{"turn":{"id":"u"}}}
editor< {"id":$id,"result":{"turn":{"id":"u"}}}
`
	for name, test := range map[string]struct {
		optOut  string
		knows   bool
		notices bool
	}{
		"listens": {`[]`, false, true},
		"deaf":    {`["configWarning"]`, false, false},
		"knows":   {`[]`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			g := guard.New(load(t, policy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
			g.SetKnowsBridge(func() bool { return test.knows })
			c := bridgetest.Start(t, g)
			step := func(script, id, thread string) string {
				return strings.NewReplacer("$id", id, "$thread", thread, "$cwd", w.StartFolder).Replace(script)
			}
			told := func(thread string) string {
				if !test.notices {
					return ""
				}
				return strings.NewReplacer("$1", "$"+thread+"a", "$2", "$"+thread+"b", "$3", "$"+thread+"c").Replace(notices)
			}
			c.Play(name, `
editor> {"id":0,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":`+test.optOut+`}}}
codex<= {"id":0,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":`+test.optOut+`}}}
codex>  {"id":0,"result":{}}
editor< {"id":0,"result":{}}
`+step(opened, "1", "t1")+told("t1")+step(opened, "2", "t2")+told("t2")+step(turn, "3", "t1"))
			c.EditorSends(`{"id":4,"method":"model/list","params":{}}`)
			c.CodexSends(`{"id":4,"result":{}}`)
			if line := <-c.EditorReceives(); !strings.HasPrefix(line, `{"id":4,`) {
				t.Errorf("a second notice: %s", line)
			}
		})
	}
}

// One message has up to eight notices, and one with the number of the others.
func TestNoticesOfOneMessageAreBounded(t *testing.T) {
	for n, more := range map[int]string{7: "", 8: "", 9: "changed 1 more settings", 12: "changed 4 more settings"} {
		w := world(t)
		c := bridgetest.Start(t, guard.New(load(t, "[policy]\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\ngate = false\nproject_trust = \"codex\"\n"), w, guard.NoRecord, slog.New(slog.DiscardHandler)))
		servers := make([]string, n)
		for i := range servers {
			servers[i] = fmt.Sprintf(`"s%d":{"command":"x"}`, i)
		}
		c.Play("opened", strings.NewReplacer("$cwd", w.StartFolder, "$servers", strings.Join(servers, ",")).Replace(`
editor> {"id":1,"method":"thread/start","params":{"cwd":"$cwd","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user","config":{"mcp_servers":{$servers}}}}
codex<  {"id":1,"method":"thread/start","params":"$params"}
codex>  {"id":1,"result":{"thread":{"id":"t"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}}
editor< {"id":1,"result":"$result"}
`))
		c.EditorSends(`{"id":2,"method":"model/list","params":{}}`)
		c.CodexSends(`{"id":2,"result":{}}`)
		removed, last := 0, ""
		for line := range c.EditorReceives() {
			if strings.HasPrefix(line, `{"id":2,`) {
				break
			}
			if last = line; strings.Contains(line, "has removed config.mcp_servers.s") {
				removed++
			}
		}
		if removed != min(n, 8) || !strings.Contains(last, more) || more == "" && !strings.Contains(last, "has removed") {
			t.Errorf("%d changes: %d notices, the last one %s", n, removed, last)
		}
	}
}
