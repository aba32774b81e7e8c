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
	opened, _, ok := strings.Cut(string(text), "\n\n")
	if !ok {
		t.Fatal("the session has changed")
	}
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
			c, f := startWith(t, test.rule, now, "session", time.Hour, &brokenLog{}, false)
			c.Play("opened", opened+"\n")
			m := mcpTurn{t, c, f}
			if m.starts("a", "read", `{"id":7}`) {
				t.Error("accepted without an answer")
			}
			m.asks(10, "read", `{"id":7}`, `"persist":"session"`)
			if !m.starts("b", "read", `{"id":7}`) {
				t.Error("not remembered")
			}
			passed.Store(60)
			if m.starts("c", "read", `{"id":7}`) == test.asked {
				t.Errorf("after the end of the exception: accepted %t", !test.asked)
			}
		})
	}
}
