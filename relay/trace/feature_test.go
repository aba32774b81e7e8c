package trace_test

import (
	"log/slog"
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

// What a stream costs who carries it.
func BenchmarkHeard(b *testing.B) {
	r := trace.NewRecorder(trace.Options{Folder: b.TempDir() + "/traces", TraceID: "x", Log: slog.New(slog.DiscardHandler)})
	line := []byte(`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"some words"}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		r.Heard(bridge.Codex, line)
		r.Told(bridge.Client, line)
	}
	b.StopTimer()
	r.Close()
}
