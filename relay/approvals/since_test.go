package approvals_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An answer that is remembered for an exception does not count after the end of the exception.
func TestQuestionOfExpiredRuleIsAskedAgain(t *testing.T) {
	text, err := os.ReadFile("../../testdata/sessions/approvals-memory.txt")
	if err != nil {
		t.Fatal(err)
	}
	opened, rest, _ := strings.Cut(string(text), "\n\n")
	remembered, again, ok := strings.Cut(rest, "\n\n")
	if !ok {
		t.Fatal("the session has changed")
	}
	again, _, _ = strings.Cut(again, "\n\n")
	for _, test := range []struct {
		name, rule string
		asked      bool
	}{
		{"ask until", "[[policy.rule]]\ntool = \"mcp\"\ndecision = \"ask\"\nuntil = \"2026-03-01\"\n", true},
		{"ask", "[[policy.rule]]\ntool = \"mcp\"\ndecision = \"ask\"\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var passed atomic.Int64 // seconds
			now := func() time.Time { return time.Date(2026, 3, 1, 23, 59, int(passed.Load()), 0, time.UTC) }
			c := startWith(t, test.rule, now, "session", time.Hour, &brokenLog{}, false)
			c.Play("remembered", opened+"\n"+remembered+"\n"+again+"\n")
			passed.Store(60)
			_, question, _ := strings.Cut(again, "codex>")
			question, _, _ = strings.Cut("codex>"+question, "\n")
			question = strings.Replace(question, `"id":1`, `"id":11`, 1)
			want := `codex<  {"id":11,"result":{"action":"accept","content":null,"_meta":null}}`
			if test.asked {
				want = `editor< {"method":"mcpServer/elicitation/request","id":11,"params":"$later"}`
			}
			c.Play("later", question+"\n"+want+"\n")
		})
	}
}
