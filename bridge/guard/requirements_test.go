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

// A question by a requirement of the machine reaches the client, although a rule of the policy allows the command. The
// requirements are read once for all threads.
func TestRequiredQuestionReachesTheClient(t *testing.T) {
	const text = "[policy]\nsandbox = \"read-only\"\nescalation = \"ask\"\napproval = [\"on-request\"]\nproject_trust = \"codex\"\n" +
		"[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"allow\"\nescalated = true\n"
	const question = `codex> {"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u","itemId":"i","startedAtMs":0,"command":"touch a","cwd":"$start"}}
`
	for _, test := range []struct{ name, required, answer string }{
		{"required", "[[rules.prefix_rules]]\npattern = [{ any_of = [\"mkdir\", \"touch\"] }]\ndecision = \"prompt\"\n",
			`editor< {"id":7,"method":"item/commandExecution/requestApproval","params":"$asked"}
editor> {"id":7,"result":{"decision":"decline"}}
codex< {"id":7,"result":{"decision":"decline"}}
`},
		{"of another command", "[[rules.prefix_rules]]\npattern = [{ token = \"mkdir\" }]\ndecision = \"prompt\"\n", `codex< {"id":7,"result":{"decision":"accept"}}
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "requirements.toml")
			if err := os.WriteFile(file, []byte(test.required), 0o600); err != nil {
				t.Fatal(err)
			}
			w := world(t)
			g := guard.New(load(t, text), w, &book{}, slog.New(slog.DiscardHandler))
			g.HoldRequirements(file)
			c := bridgetest.Start(t, g)
			c.Bind("start", w.StartFolder)
			const start = `editor> {"id":ID,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
REQUIREMENTScodex<  {"id":ID,"method":"thread/start","params":"$sentID"}
codex>  {"id":ID,"result":{"approvalPolicy":"on-request","thread":{"id":"tID"},` + threadAnswer + `
editor< {"id":ID,"result":"$startedID"}
`
			const read = `codex<  {"id":"$read","method":"configRequirements/read","params":{}}
codex>  {"id":"$read","result":{"requirements":null}}
`
			c.Play("start", strings.NewReplacer("ID", "1", "REQUIREMENTS", read).Replace(start))
			c.Play("again", strings.NewReplacer("ID", "2", "REQUIREMENTS", "").Replace(start))
			c.StartTurn("t1", "u")
			c.Play("asked", question+test.answer)
		})
	}
}
