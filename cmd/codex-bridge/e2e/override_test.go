//go:build linux

package e2e_test

import (
	"encoding/json"
	"testing"
)

// [policy.methods] overrides refusals, and refuses methods that the table allows. Rules about
// fields still apply.
func TestMethodOverrides(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig + `
[policy.methods]
"fs/writeFile" = "allow"
"thread/shellCommand" = "allow"
"thread/rollback" = "allow"
"turn/start" = "allow"
"fs/readFile" = "allow"
"model/list" = "deny"
"thread/list" = "deny"
`})
	w := newWorld(t, o)
	c, thread, turn := w.openAttackThread(proxyArgv...)
	line := listen(t)
	for name, a := range map[string]attack{
		"file":    writeAttacks["new"],
		"command": executeAttacks["shellCommand"],
		"unknown": nameAttacks["gone"],
	} {
		s := c.newAttackRun(name, a, thread, turn, line)
		s.runAttack(true)
		s.waitEffect("no effect", a.effect)
	}
	refused := []*attackRun{
		c.newAttackRun("models", attack{method: "model/list", params: `{}`}, thread, turn, line),
		c.newAttackRun("threads", attack{method: "thread/list", params: `{}`}, thread, turn, line),
		c.newAttackRun("read", readAttacks["file"], thread, turn, line),
	}
	for _, s := range refused {
		s.checkRefusals(s.runAttack(false))
	}
	if err := c.mustFail("turn/start", input("00000000-0000-7000-8000-000000000000", "x")); err.Code != -32013 {
		t.Error(err)
	}
	c.closeAndWait()
	for _, s := range refused {
		s.checkNotForwarded(recordedLines(t, dir, "in"))
	}
	var data struct{ Rule string }
	if err := json.Unmarshal(refused[0].error(), &data); err != nil || data.Rule != `policy.methods."model/list"` {
		t.Errorf("%s", refused[0].answer)
	}
}

// error returns the data of the attack's error.
func (s *attackRun) error() json.RawMessage {
	var m struct {
		Error struct{ Data json.RawMessage }
	}
	if json.Unmarshal(s.answer, &m) != nil {
		return nil
	}
	return m.Error.Data
}
