//go:build unix

package hook_test

import (
	"context"
	"strings"
	"testing"

	"codex-bridge/relay/hook"
)

// A process that is told nothing ends before main; one that is told something, or asks in
// a form that the bridge does not write, does not.
func TestRelayEarly(t *testing.T) {
	t.Setenv(earlyOnly, "1")
	s := listen(t, hook.Options{Decide: func(_ context.Context, c *hook.Call) hook.Answer {
		if c.Event == hook.PreToolUse {
			return hook.Answer{Decision: hook.Deny, Reason: "no"}
		}
		return hook.Answer{}
	}})
	for e, o := range askAll(t, s.Socket(), plenty) {
		want := outcome{}
		if e == hook.PreToolUse {
			want.status = lateStatus
		}
		if o != want {
			t.Errorf("%s: %+v", e, o)
		}
	}
	o := start(t, strings.NewReader(payload(hook.Stop, "c")), "--event", "stop", "--socket", s.Socket(), "--timeout", "1m")()
	if o != (outcome{status: lateStatus}) {
		t.Errorf("another form: %+v", o)
	}
}
