package guard_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

const onRequestPolicy = `
[policy]
gate = false
sandbox = "workspace-write"
approval = ["on-request", "untrusted", "granular"]
project_trust = "codex"
[[policy.rule]]
command = "make"
decision = "allow"
[[policy.rule]]
tool = "mcp__tickets__read"
decision = "allow"
`

// A verified thread takes no turn after it was opened again with settings that the policy does not
// allow.
func TestReopenedThreadThatFailsTakesNoTurn(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, onRequestPolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	open := `{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user","model":"gpt-5.5"}`
	opened := `"approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}`
	c.Play("opened", `
editor> {"id":1,"method":"thread/start","params":`+open+`}
codex<  {"id":"$config","method":"config/read","params":{"cwd":"$start","includeLayers":true}}
codex>  {"id":"$config","result":{"config":{}}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+opened+`}
editor< {"id":1,"result":"$started"}
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
codex<= {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
codex>  {"id":2,"result":{}}
editor< {"id":2,"result":{}}
editor> {"id":3,"method":"thread/resume","params":{"threadId":"t1","approvalPolicy":"on-request"}}
codex<  {"id":"$own","method":"config/read","params":{"includeLayers":true}}
codex>  {"id":"$own","result":{"config":{}}}
codex<  {"id":3,"method":"thread/resume","params":"$resume"}
codex>  {"id":3,"result":{"thread":{"id":"t1"},"approvalPolicy":"never",`+opened+`}
editor< {"id":3,"error":{"code":-32013,"message":"<text>","data":"$failed"}}
editor> {"id":4,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":4,"error":{"code":-32013,"message":"<text>","data":"$refused"}}
`)
	if n := g.Threads(); n != 0 {
		t.Errorf("%d threads may take turns", n)
	}
}

// A thread that was requested under audit is not verified if Codex responds under enforce.
func TestThreadRequestedUnderAuditTakesNoTurn(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, strings.Replace(onRequestPolicy, "[policy]", "[policy]\nmode = \"audit\"", 1)), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	c.Play("asked", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user","model":"gpt-5.5"}}
codex<  {"id":"$config","method":"config/read","params":{"cwd":"$start","includeLayers":true}}
codex>  {"id":"$config","result":{"config":{}}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
`)
	g.SetPolicy(load(t, onRequestPolicy))
	c.Play("answered", `
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}
editor< {"id":1,"result":"$started"}
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":2,"error":{"code":-32013,"message":"<text>","data":"$refused"}}
`)
	if n := g.Threads(); n != 0 {
		t.Errorf("%d threads may take turns", n)
	}
}

// A thread that once had the approval policy untrusted may run an accepted command again outside
// the sandbox. So no allow rule accepts in the user's place, even if the thread has another
// approval policy now or was reopened.
func TestRulesDoNotAnswerAfterUntrusted(t *testing.T) {
	const (
		started  = `{"cwd":"$start","approvalPolicy":"POLICY","sandbox":"workspace-write","approvalsReviewer":"user","model":"gpt-5.5"}`
		opened   = `"approvalPolicy":"POLICY","approvalsReviewer":"user","sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}`
		settings = `{"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"approvalPolicy":"POLICY","approvalsReviewer":"user","sandboxPolicy":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5","effort":null}}}`
		question = `{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t1","turnId":"u","itemId":"call","command":"make","cwd":"$start"}}`
	)
	in := func(text, approval string) string { return strings.ReplaceAll(text, "POLICY", approval) }
	for _, test := range []struct {
		name     string
		policies []string // in force one after the other, the first at the start
		reopened bool
		answered bool // by the rule
	}{
		{"on-request", []string{"on-request"}, false, true},
		{"untrusted at the start", []string{"untrusted", "on-request"}, false, false},
		{"untrusted meanwhile", []string{"on-request", "untrusted", "on-request"}, false, false},
		{"opened again", []string{"untrusted", "on-request"}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := world(t)
			var err error
			if w.CodexHome, err = w.Paths.Canonical(t.TempDir()); err != nil {
				t.Fatal(err)
			}
			rollout := filepath.Join(w.CodexHome, "sessions", "rollout-t1.jsonl")
			if err := os.MkdirAll(filepath.Dir(rollout), 0o700); err != nil {
				t.Fatal(err)
			}
			call := `{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"call"}}` + "\n"
			if err := os.WriteFile(rollout, []byte(call), 0o600); err != nil {
				t.Fatal(err)
			}
			g := guard.New(load(t, onRequestPolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
			c := bridgetest.Start(t, g)
			c.Bind("start", w.StartFolder)
			c.Bind("rollout", rollout)
			c.Play("opened", in(`
editor> {"id":1,"method":"thread/start","params":`+started+`}
codex<  {"id":"$config","method":"config/read","params":{"cwd":"$start","includeLayers":true}}
codex>  {"id":"$config","result":{"config":{}}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"thread":{"id":"t1","path":"$rollout"},`+opened+`}
editor< {"id":1,"result":"$started"}
`, test.policies[0]))
			now := test.policies[len(test.policies)-1]
			for _, approval := range test.policies[1:] {
				if test.reopened {
					c.Play("reopened", in(`
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t1","approvalPolicy":"POLICY","sandbox":"workspace-write"}}
codex<  {"id":"$own","method":"config/read","params":{"includeLayers":true}}
codex>  {"id":"$own","result":{"config":{}}}
codex<  {"id":2,"method":"thread/resume","params":"$resume"}
codex>  {"id":2,"result":{"thread":{"id":"t1","path":"$rollout"},`+opened+`}
editor< {"id":2,"result":"$resumed"}
`, now))
					break
				}
				c.Play("settings", in("codex> "+settings+"\neditor< "+settings+"\n", approval))
			}
			c.StartTurn("t1", "u")
			if test.answered {
				c.Play("question", "codex> "+question+"\ncodex< {\"id\":0,\"result\":{\"decision\":\"accept\"}}\n")
			} else {
				c.Play("question", "codex> "+question+"\neditor< {\"method\":\"item/commandExecution/requestApproval\",\"id\":0,\"params\":\"$question\"}\n")
			}
		})
	}
}
