package hook_test

import (
	"slices"
	"testing"

	"codex-bridge.example/relay/hook"
)

// The table relays the events that have code, and an event that it does not relay has no name.
func TestEvents(t *testing.T) {
	want := []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.PermissionRequest, hook.Stop}
	if got := hook.Events(); !slices.Equal(got, want) {
		t.Errorf("the table relays %v, want %v", got, want)
	}
	for _, e := range want {
		if decides := e == hook.PreToolUse || e == hook.PermissionRequest; e.Name() == "" || e.Decides() != decides {
			t.Errorf("%s: %q, decides: %v", e, e.Name(), e.Decides())
		}
	}
	for _, e := range []hook.Event{"session_start", "zebra", ""} {
		if e.Name() != "" || e.Decides() {
			t.Errorf("%s: %q, decides: %v", e, e.Name(), e.Decides())
		}
	}
}
