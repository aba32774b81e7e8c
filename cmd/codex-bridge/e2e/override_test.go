//go:build linux

package e2e_test

import (
	"encoding/json"
	"testing"
)

// [policy.methods] has the last word on a refusal, and refuses what the table
// lets pass. What is judged by its fields stays judged.
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
	c, thread, turn := w.besideConversation(proxyArgv...)
	line := listen(t)
	for name, a := range map[string]attack{
		"file":    writeAttacks["new"],
		"command": executeAttacks["shellCommand"],
		"unknown": nameAttacks["gone"],
	} {
		s := c.assault(name, a, thread, turn, line)
		s.strike(true)
		s.until("no effect", a.effect)
	}
	refused := []*assault{
		c.assault("models", attack{method: "model/list", params: `{}`}, thread, turn, line),
		c.assault("threads", attack{method: "thread/list", params: `{}`}, thread, turn, line),
		c.assault("read", readAttacks["file"], thread, turn, line),
	}
	for _, s := range refused {
		s.judge(s.strike(false))
	}
	if err := c.refused("turn/start", input("00000000-0000-7000-8000-000000000000", "x")); err.Code != -32013 {
		t.Error(err)
	}
	c.quit()
	for _, s := range refused {
		s.unheard(recordedLines(t, dir, "in"))
	}
	var data struct{ Rule string }
	if err := json.Unmarshal(refused[0].error(), &data); err != nil || data.Rule != `policy.methods."model/list"` {
		t.Errorf("%s", refused[0].answer)
	}
}

// error is the data of the error that answered the attack.
func (s *assault) error() json.RawMessage {
	var m struct {
		Error struct{ Data json.RawMessage }
	}
	if json.Unmarshal(s.answer, &m) != nil {
		return nil
	}
	return m.Error.Data
}
