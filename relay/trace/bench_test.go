package trace_test

import (
	"bytes"
	"fmt"
	"testing"

	"codex-bridge.example/relay/trace"
)

// BenchmarkForwarded writes a delta that was forwarded.
func BenchmarkForwarded(b *testing.B) {
	const count = 500
	var run bytes.Buffer
	for i := range count {
		fmt.Fprintf(&run, `{"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"msg_%04d","delta":"The bridge keeps each line as it came, and writes runs of lines at once. \n\n- \"quoted\" words"},"emittedAtMs":1790000000000}`+"\n", i)
	}
	r, _ := recorder(b, trace.Limits{File: 1 << 40, Memory: 1 << 30})
	b.ReportAllocs()
	for range b.N/count + 1 {
		r.ForwardedLines(run.Bytes(), count)
	}
	r.Close()
	if r.Dropped() > 0 {
		b.Fatal(r.Dropped(), "were lost")
	}
}

// BenchmarkForwardedWhileFull passes deltas one by one, faster than they are written.
func BenchmarkForwardedWhileFull(b *testing.B) {
	line := []byte(`{"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"msg","delta":"some more words, to"},"emittedAtMs":1790000000000}` + "\n")
	r, _ := recorder(b, trace.Limits{File: 1 << 40})
	for r.Dropped() == 0 {
		r.ForwardedLines(line, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.ForwardedLines(line, 1)
	}
	b.StopTimer()
	r.Close()
}
