package guard_test

import (
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

// A running bridge notices the end of a rule without another configuration: the exception to a denial no
// longer runs, in a hook and when Codex itself asks, and the refusal and the log name the rule's owner.
func TestRuleExpiresWhileTheBridgeRuns(t *testing.T) {
	const text = "[policy]\nsandbox = \"read-only\"\nescalation = \"ask\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n" +
		"[[policy.rule]]\ncommand = \"make\"\ndecision = \"allow\"\nescalated = true\nticket = \"OPS-7\"\nuntil = \"2026-03-31\"\n" +
		"[[policy.rule]]\ncommand = \"make\"\ndecision = \"allow\"\nticket = \"OPS-7\"\nuntil = \"2026-03-31\"\n" +
		"[[policy.rule]]\ncommand = \"make\"\ndecision = \"deny\"\nreason = \"CI builds.\"\nowner = \"platform\"\n"
	b := &book{}
	now := time.Date(2026, 3, 31, 23, 59, 59, 0, time.UTC)
	w := world(t)
	w.Now = func() time.Time { return now }
	c, g, w := withRolloutIn(t, w, text, b, "untrusted")
	call := func() guard.Ruling {
		use := bash(t, "make", w.StartFolder)
		use.ID = "inside"
		return g.Tool(t.Context(), "t1", "u", use, []byte("call"))
	}
	const asked = `codex> {"id":%,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u","itemId":"outside","startedAtMs":0,"command":"make","cwd":"$start"}}
`
	if got := call(); got.Ask || got.Refusal != "" {
		t.Errorf("the exception does not hold: %+v", got)
	}
	c.Play("before", strings.Replace(asked, "%", "7", 1)+`codex< {"id":7,"result":{"decision":"accept"}}
`)
	now = now.Add(time.Second)
	b.entries = nil
	if got := call(); !strings.HasPrefix(got.Refusal, "hook/preToolUse: CI builds (owner platform): make (policy.rule, user ") {
		t.Errorf("the exception holds after its end: %+v", got)
	}
	c.Play("after", strings.Replace(asked, "%", "8", 1)+`codex< {"id":8,"result":{"decision":"decline"}}
`)
	for _, e := range b.entries {
		if !strings.HasPrefix(e.Reason, "CI builds (owner platform): make") {
			t.Errorf("the log has %+v", e)
		}
	}
	if len(b.entries) != 2 {
		t.Errorf("the log has %d entries", len(b.entries))
	}
}

// Answers from before the end of an ask rule do not count after it, for the bridge's own question and for
// Codex's.
func TestAnswersSinceTheEndOfAnAskRule(t *testing.T) {
	const text = "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n" +
		"[[policy.rule]]\ncommand = \"make\"\ndecision = \"ask\"\nuntil = \"2026-03-31\"\nowner = \"platform\"\n"
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	w := world(t)
	w.Now = func() time.Time { return now }
	_, g, w := withRolloutIn(t, w, text, &book{}, "untrusted")
	ask := func() (bySide [2]time.Time) {
		use := bash(t, "make", w.StartFolder)
		use.ID = "inside"
		r := g.Tool(t.Context(), "t1", "u", use, []byte("call"))
		if !r.Ask || !strings.HasPrefix(r.Why, "a rule says ask (owner platform, until 2026-03-31) (policy.rule, user ") {
			t.Errorf("not asked: %+v", r)
		}
		doc, err := rpc.ParseValue([]byte(`{"threadId":"t1","turnId":"u","itemId":"inside","command":"make","cwd":"` + w.StartFolder + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		return [2]time.Time{r.AnswerTerms.Since, g.AnswerTerms("item/commandExecution/requestApproval", doc.Root()).Since}
	}
	if got := ask(); got != [2]time.Time{} {
		t.Errorf("before its end answers count since %v", got)
	}
	now = now.AddDate(0, 0, 1)
	end := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	if got := ask(); got != [2]time.Time{end, end} {
		t.Errorf("after its end answers count since %v", got)
	}
}
