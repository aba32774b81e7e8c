package records

import (
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
)

// On a terminal of 80 columns a time and the id of a thread stay whole in the list of decisions.
func TestDecisionsFitTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	const thread = "01a22692-a982-7672-89a4-a75902111ac0"
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	entry := func(method, verdict string) listedDecision {
		return listedDecision{Entry: decision.Entry{Seq: 1234, Record: decision.Record{Time: at, Method: method, Verdict: verdict, Thread: thread, Rule: "policy.methods"}}}
	}
	var b strings.Builder
	if err := writeTable(&b, []listedDecision{entry("item/commandExecution/requestApproval", "rewrite"), entry("thread/start", "deny")}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for _, whole := range []string{"2026-03-01T09:30:00Z", thread, "policy.methods"} {
		if n := strings.Count(b.String(), whole); n != 2 {
			t.Errorf("%s is there %d times in\n%s", whole, n, b.String())
		}
	}
}
