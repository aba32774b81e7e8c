package transcript_test

import (
	"context"
	"fmt"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/transcript"
	"codex-bridge.example/rpc"
)

// BenchmarkStored stores a completed message: the time of all its steps, with the database.
func BenchmarkStored(b *testing.B) {
	const most = 4096 // messages that wait
	w := newFixture(b)
	b.ReportAllocs()
	for n := 0; n < b.N; {
		m := w.mirror(transcript.Options{})
		handle := itemCompleted(m)
		for end := min(n+most, b.N); n < end; n++ {
			line := fmt.Appendf(nil, `{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"msg_%[1]d","text":"The bridge keeps each line as it came, and writes runs of lines at once. \n\n- \"quoted\" words","phase":null},"threadId":"01a1fb64-bf16-7433-afd1-f74813a2f120","turnId":"01a1fb64-bf29-7e02-8995-%012[2]d","completedAtMs":1795219046162},"emittedAtMs":1795219046162}`, n, n/4)
			e, err := rpc.ParseEnvelope(line)
			if err != nil {
				b.Fatal(err)
			}
			handle(b.Context(), &bridge.ServerMessage{Envelope: e, Line: line})
		}
		m.Close(context.Background())
		if m.Dropped() > 0 {
			b.Fatal(m.Dropped(), "were lost")
		}
	}
}

func itemCompleted(m *transcript.Mirror) func(context.Context, *bridge.ServerMessage) {
	for _, route := range m.Routes() {
		if route.Method == "item/completed" {
			return route.HandleServer
		}
	}
	return nil
}
