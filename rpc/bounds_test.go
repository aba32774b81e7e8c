package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// A Sink reuses its buffer for messages of up to rpc.PumpBufferSize bytes, with line end or
// header. The buffer of a longer message is released.
func TestSinkKeepsBuffersUpToBufferSize(t *testing.T) {
	text := []byte(`{"a":"` + strings.Repeat("x", rpc.PumpBufferSize) + `"}`)
	for name, test := range map[string]struct {
		sink  func() rpc.Sink
		added int // bytes that the sink adds
	}{
		"lines":   {func() rpc.Sink { return rpc.NewLineSink(io.Discard) }, len("\n")},
		"headers": {func() rpc.Sink { return rpc.NewHeaderSink(io.Discard) }, len(`"jsonrpc":"2.0",`)},
	} {
		message := func(n int) []byte { return append(bytes.Clone(text[:n-test.added-2]), '"', '}') }
		s := test.sink()
		small := testing.AllocsPerRun(10, func() { s.WriteMessage(message(100)) })
		for n, kept := range map[int]bool{rpc.PumpBufferSize - 1: true, rpc.PumpBufferSize: true, rpc.PumpBufferSize + 1: false} {
			m := message(n)
			s.WriteMessage(m)
			got := testing.AllocsPerRun(10, func() { s.WriteMessage(m) }) + 1 // the message itself
			if kept != (got <= small) {
				t.Errorf("%s: %v allocations for a message of %d bytes, %v for a short one", name, got, n, small)
			}
		}
	}
}

// A Source reuses its memory for the next message. A message longer than rpc.MaxReusedSize is
// not overwritten by the next one.
func TestSourceReusesMemoryUpToABound(t *testing.T) {
	line := func(n int, c string) string { return strings.Repeat(c, n-1) + "\n" }
	t.Run("a short line", func(t *testing.T) {
		const n = 100 << 10
		in := strings.NewReader(strings.Repeat(line(n, "x"), 30))
		s, _ := rpc.DetectFraming(in, io.Discard, 8*mib)
		if got := testing.AllocsPerRun(20, func() {
			if l, err := s.Next(); err != nil || len(l) != n {
				t.Errorf("%d bytes, %v", len(l), err)
			}
		}); got != 0 {
			t.Errorf("%v allocations for a line of %d bytes", got, n)
		}
	})
	t.Run("memory of the bound", func(t *testing.T) {
		// With this maximum the memory is exactly rpc.MaxReusedSize.
		const n, max = rpc.MaxReusedSize - 100<<10, rpc.MaxReusedSize - 64<<10
		in := strings.NewReader(strings.Repeat(line(n, "x"), 12))
		s, _ := rpc.DetectFraming(in, io.Discard, max)
		if got := testing.AllocsPerRun(10, func() {
			if l, err := s.Next(); err != nil || len(l) != n {
				t.Errorf("%d bytes, %v", len(l), err)
			}
		}); got != 0 {
			t.Errorf("%v allocations for a line of %d bytes", got, n)
		}
	})
	t.Run("a long line", func(t *testing.T) {
		const n = rpc.MaxReusedSize + 1
		s, _ := rpc.DetectFraming(strings.NewReader(line(n, "x")+line(n, "y")), io.Discard, 8*mib)
		first, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		if string(first) != line(n, "x") {
			t.Errorf("the line has become %.20q", first)
		}
	})
}

// Lines are read in blocks of 64 KiB.
func TestSourceReadsInBlocks(t *testing.T) {
	const block = 64 << 10
	text := strings.Repeat("{}\n", 4*block/3)
	reads := 0
	in := strings.NewReader(text)
	s, _ := rpc.DetectFraming(readerFunc(func(b []byte) (int, error) { reads++; return in.Read(b) }), io.Discard, mib)
	for {
		if _, err := s.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if reads > 2*len(text)/block {
		t.Errorf("%d reads for %d bytes", reads, len(text))
	}
}

// collections returns the number of garbage collections that f forces.
func collections(f func()) uint32 {
	before, after := memStats(f)
	return after.NumForcedGC - before.NumForcedGC
}

// The memory of a line of 16 MiB is released at once, that of a shorter one is not.
func TestMemoryOfHugeLinesIsReleased(t *testing.T) {
	const huge = 16 * mib
	for _, test := range []struct {
		name      string
		max, n    int // of a line, so that its memory comes to max
		givenBack uint32
	}{
		{"huge", huge, huge - 1000, 1},
		{"not quite", huge - 1, huge - 1000, 0},
		{"long", huge, mib, 0},
	} {
		t.Run("pump, "+test.name, func(t *testing.T) {
			start := `{"method":"turn/completed","params":"`
			in := io.MultiReader(strings.NewReader(start), &endlessReader{text: strings.Repeat("x", 4096), n: test.n - len(start) - 3}, strings.NewReader("\"}\n"))
			if got := collections(func() {
				if err := rpc.NewPump(rpc.NewLineSink(io.Discard), someWanted, someWanted, test.max).Run(in); err != nil {
					t.Error(err)
				}
			}); got != test.givenBack {
				t.Errorf("memory was given back %d times, want %d", got, test.givenBack)
			}
		})
		t.Run("source, "+test.name, func(t *testing.T) {
			const behind = 64 << 10 // kept of a line over the maximum
			in := io.MultiReader(&endlessReader{text: strings.Repeat("x", 4096), n: test.n - behind - 1}, strings.NewReader("\n{}\n{}\n"))
			s, _ := rpc.DetectFraming(in, io.Discard, test.max-behind)
			if line, err := s.Next(); err != nil || len(line) != test.n-behind {
				t.Fatalf("%d bytes, %v", len(line), err)
			}
			if got := collections(func() {
				for range 2 {
					if line, err := s.Next(); err != nil || string(line) != "{}\n" {
						t.Fatalf("%q, %v", line, err)
					}
				}
			}); got != test.givenBack {
				t.Errorf("memory was given back %d times, want %d", got, test.givenBack)
			}
		})
	}
}

// At most 1,024 names of up to 64 bytes are interned, so that the next message does not allocate
// them.
func TestParserKeepsNames(t *testing.T) {
	for n, want := range map[int]float64{64: 0, 65: 1} {
		var p rpc.Parser
		line := []byte(`{"method":"` + strings.Repeat("m", n) + `"}`)
		if got := testing.AllocsPerRun(100, func() {
			if _, err := p.Message(line, false); err != nil {
				t.Error(err)
			}
		}); got != want {
			t.Errorf("%v allocations for a name of %d bytes, want %v", got, n, want)
		}
	}
	var p rpc.Parser
	maxNames := 0
	for i := range 3000 {
		if _, err := p.Message(fmt.Appendf(nil, `{"method":"%d"}`, i), false); err != nil {
			t.Fatal(err)
		}
		maxNames = max(maxNames, rpc.MethodNames(&p))
	}
	if maxNames != 1024 {
		t.Errorf("%d names were kept, want 1024", maxNames)
	}
}

// A handled line of Codex takes at most twice its length, even one of the maximum length.
func TestLongLineCostsLittleMemory(t *testing.T) {
	line := notification("turn/completed", mib)
	p := rpc.NewPump(rpc.NewLineSink(io.Discard), someWanted, someWanted, mib)
	if got := allocated(func() {
		if err := p.Run(strings.NewReader(line)); err != nil {
			t.Error(err)
		}
	}); got > 2*mib {
		t.Errorf("%d KiB of memory for a line of 1024", got>>10)
	}
}
