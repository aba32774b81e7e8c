package guard_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// If a request changes only whether the bridge asks in Codex's place, Codex notifies no client. The bridge
// notifies all clients of the thread, and logs the change.
func TestClientsAreShownChangeOfGate(t *testing.T) {
	const change = `
editor> {"id":"change","method":"METHOD","params":{"threadId":"t1",INPUT"approvalPolicy":"APPROVAL"}}
codex<  {"id":"change","method":"METHOD","params":{"threadId":"t1",INPUT"approvalPolicy":"on-request"}}
codex>  {"id":"change",RESULT}
editor< {"id":"change",RESULT}
`
	const resume = `
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"APPROVAL","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",` + threadAnswer + `
editor< {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"APPROVAL",` + threadAnswer + `
`
	for _, method := range []string{"turn/start", "thread/settings/update"} {
		for before, after := range map[string]string{"untrusted": "on-request", "on-request": "untrusted"} {
			t.Run(method+" "+after, func(t *testing.T) {
				b := &book{}
				a, g, w := converse(t, gatePolicy, b)
				startThread(a, before)
				other := bridgetest.Start(t, g.Join(guard.NoRecord, slog.New(slog.DiscardHandler)))
				other.Bind("start", w.StartFolder)
				other.Play("resume", strings.ReplaceAll(resume, "APPROVAL", before))
				fill := func(script, approval, result string) string {
					input := map[string]string{"turn/start": `"input":[],`}[method]
					return strings.NewReplacer("METHOD", method, "INPUT", input, "APPROVAL", approval, "RESULT", result).Replace(script)
				}
				a.Play("refused", fill(change, after, `"error":{"code":-32602,"message":"no"}`))
				a.Play("same", fill(change, before, `"result":{}`))
				a.Play("change", fill(change+shown, after, `"result":{}`))
				other.Play("the other client", strings.ReplaceAll(shown, "APPROVAL", after))
				a.Play("back", fill(change+shown, before, `"result":{}`))
				other.Play("the other client", strings.ReplaceAll(shown, "APPROVAL", before))
				var ends []bool // of each logged change, whether it ends the questions
				b.mu.Lock()
				defer b.mu.Unlock()
				for _, d := range b.entries {
					if d.Verdict == "pass" && d.Rule == "policy.gate" && d.Method == method && d.Thread == "t1" {
						ends = append(ends, strings.Contains(d.Reason, "no longer asks"))
					}
				}
				if want := []bool{after == "on-request", after == "untrusted"}; !slices.Equal(ends, want) {
					t.Errorf("logged: %v, want %v", ends, want)
				}
			})
		}
	}
}
