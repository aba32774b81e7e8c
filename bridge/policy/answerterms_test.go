package policy_test

import (
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy/serverrequest"
)

// After the end of any rule that asks about a part of a command, earlier answers to the command no longer count.
func TestAnswersCountSinceLastExpiredRule(t *testing.T) {
	cfg := contract()
	cfg.Rules = []config.Rule{
		{Command: "make **", Decision: "ask"},
		{Command: "ls", Decision: "ask", Until: "2026-01-01"},
		{Command: "cat x", Decision: "ask", Until: "2026-01-03"},
	}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for _, test := range []struct {
		command string
		now     int
		since   time.Time
	}{
		{"make all", 9, time.Time{}},
		{"ls", 1, time.Time{}},
		{"ls", 2, day(2)},
		{"make all && ls", 2, day(2)},
		{"ls && make all", 2, day(2)},
		{"ls && cat x", 2, day(2)},
		{"ls && cat x", 9, day(4)},
		{"cat x && ls", 9, day(4)},
	} {
		st := state()
		st.Now = func() time.Time { return day(test.now) }
		terms := serverrequest.Terms(compile(t, cfg), "item/commandExecution/requestApproval", value(t, `{"threadId":"T","turnId":"u","itemId":"i","startedAtMs":0,"command":"`+test.command+`","cwd":"/code/proj"}`), st)
		if !terms.Since.Equal(test.since) || len(terms.AskedBy) == 0 {
			t.Errorf("%s on day %d: answers count since %v, want %v; asked by %q", test.command, test.now, terms.Since, test.since, terms.AskedBy)
		}
	}
}
