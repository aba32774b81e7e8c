package guard_test

import (
	"testing"

	"codex-bridge.example/bridge/guard"
)

// Commands can write a folder that the client has granted to the thread, so no folder in it is
// granted later. A grant that the policy removed from a response does not count, nor does the
// response to another request.
func TestGrantedFolderIsRemembered(t *testing.T) {
	const (
		policy      = "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\"]\nproject_trust = \"codex\"\n"
		permissions = "item/permissions/requestApproval"
		none        = `"permissions":{"fileSystem":{"write":[]}}`
		reads       = `"permissions":{"fileSystem":{"read":["$start/sub"]}}`
		writes      = `"permissions":{"fileSystem":{"write":["$start/sub"]}}`
		entry       = `"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"type":"path","path":"$start/sub"}}]}}`
		inner       = `"permissions":{"fileSystem":{"write":["$start/sub/inner"]}}`
	)
	for _, test := range []struct{ name, method, asked, answer, sent, later string }{
		{"a folder", permissions, writes, writes, writes, none},
		{"an entry", permissions, entry, entry, entry, none},
		{"to read", permissions, reads, reads, reads, inner},
		{"not asked for", permissions, reads, writes, none, inner},
		{"another request", "item/tool/requestUserInput", `"questions":[]`, writes, writes, inner},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _, w := converse(t, policy, guard.NoRecord)
			for _, name := range []string{"start/sub", "start/sub/inner"} {
				c.Bind(name, w.StartFolder+name[len("start"):])
			}
			c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$config","method":"config/read","params":"$for"}
codex>  {"id":"$config","result":{"config":{},"layers":[]}}
codex<  {"id":1,"method":"thread/start","params":"$params"}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
`)
			c.StartTurn("t1", "u")
			for _, step := range []struct{ method, asked, answer, sent string }{
				{test.method, test.asked, test.answer, test.sent},
				{permissions, inner, inner, test.later},
			} {
				request := `{"method":"` + step.method + `","id":"ask","params":{"threadId":"t1","turnId":"u","itemId":"i",` + step.asked + `}}`
				c.Play(step.method, "codex> "+request+"\neditor< "+request+`
editor> {"id":"ask","result":{`+step.answer+`}}
codex<  {"id":"ask","result":{`+step.sent+`}}
`)
			}
		})
	}
}
