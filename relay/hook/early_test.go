//go:build unix

package hook_test

import (
	"context"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// The process ends before main with an output, also an empty one. It reaches main if the command line is not
// in the bridge's exact form.
func TestRunEndsBeforeMain(t *testing.T) {
	t.Setenv(earlyOnlyVar, "1")
	s := listen(t, hook.Options{Decide: func(_ context.Context, c *hook.Call) hook.Answer {
		if c.Event == hook.PreToolUse {
			return hook.Answer{Decision: hook.Deny, Reason: "no"}
		}
		return hook.Answer{}
	}})
	for e, o := range askAll(t, s.Socket(), longTimeout) {
		want := awaitAnswer{}
		if e == hook.PreToolUse {
			want.stdout = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}` + "\n"
		}
		if o != want {
			t.Errorf("%s: %+v", e, o)
		}
	}
	o := start(t, strings.NewReader(payload(hook.Stop, "c")), "--event", "stop", "--socket", s.Socket(), "--timeout", "1m")()
	if o != (awaitAnswer{status: reachedMainStatus}) {
		t.Errorf("another form: %+v", o)
	}
}
