package trace_test

import (
	"testing"

	"codex-bridge/bridge"
	"codex-bridge/bridge/methods"
	"codex-bridge/relay/trace"
)

// Every notification of the method table is gathered, none is looked at before, and every
// handler leaves what it sees.
func TestEverything(t *testing.T) {
	named := make(map[string]bool)
	for _, r := range (trace.Everything{}).Routes() {
		if r.When != nil || r.If != nil {
			t.Errorf("%s is wanted at times", r.Method)
		}
		if r.From == bridge.Codex {
			named[r.Method] = true
		}
	}
	for _, method := range methods.Names(methods.ServerNotification) {
		if !named[method] {
			t.Errorf("%s is not gathered", method)
		}
	}
	if !named[bridge.Other] {
		t.Error("requests of codex are not gathered")
	}
}
