package rpc_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"codex-bridge.example/rpc"
)

const buffer = rpc.PumpBufferSize

// notification returns a notification of n bytes, with its line end.
func notification(method string, n int) string {
	start, end := `{"method":"`+method+`","params":{"text":"`, "\"}}\n"
	return start + strings.Repeat("x", n-len(start)-len(end)) + end
}

// partial returns the first write that does not end with a line end.
func (d *fakeHandler) partial() string {
	for _, e := range d.events {
		if strings.HasPrefix(e, "> ") && !strings.HasSuffix(e, "\n") {
			return e
		}
	}
	return ""
}

// abbreviate replaces long events by their length.
func abbreviate(events []string) []string {
	var all []string
	for _, e := range events {
		if len(e) > 100 {
			e = fmt.Sprintf("%s… (%d bytes)", e[:60], len(e))
		}
		all = append(all, e)
	}
	return all
}

func TestPumpLongLines(t *testing.T) {
	m := func(n int) string { return notification("m", n) }
	w := func(n int) string { return notification("w", n) }
	take := func(n int) string { return "handle " + strings.TrimSuffix(w(n), "\n") }
	call := `{"id":5,"method":"m","params":"` + strings.Repeat("x", buffer) + `"}`
	answer := `{"id":1,"result":"` + strings.Repeat("x", buffer) + `"}`
	failure := `{"error":{"message":"` + strings.Repeat("x", buffer) + `"},"id":1}`
	escaped := `{"method":"\u0077","params":"` + strings.Repeat("x", buffer) + `"}`
	late := `{"params":"` + strings.Repeat("x", 2*buffer) + `","method":"w"}`
	longID := `{"id":"` + strings.Repeat("x", 2*buffer) + `","result":{}}`
	longName := `{"method":"` + strings.Repeat("m", 2*buffer) + `","params":{}}`
	const max = 2 * mib
	tests := []struct {
		name, text string
		want       []string // neighbouring writes joined
		streams    bool     // a line may come in parts
	}{
		{"one byte less than the buffer", m(buffer - 1), []string{"> " + m(buffer-1)}, false},
		{"the buffer", m(buffer), []string{"> " + m(buffer)}, false},
		{"one byte more", m(buffer + 1), []string{"> " + m(buffer+1)}, true},
		{"two bytes more", m(buffer + 2), []string{"> " + m(buffer+2)}, true},
		{"two buffers", m(2 * buffer), []string{"> " + m(2*buffer)}, true},
		{"two buffers and a byte", m(2*buffer + 1), []string{"> " + m(2*buffer+1)}, true},
		{"4 MiB", m(4 * mib), []string{"> " + m(4*mib)}, true},
		{"over the bound, which is none for what passes", m(2 * max), []string{"> " + m(2*max)}, true},
		{"ends at the end of the buffer", m(100) + m(buffer-100) + m(100), []string{"> " + m(100) + m(buffer-100) + m(100)}, false},
		{"next one starts at the end of the buffer", m(100) + m(buffer-101) + m(100), []string{"> " + m(100) + m(buffer-101) + m(100)}, false},
		{"long ones between short ones", m(90) + m(3*buffer) + m(80) + m(buffer+1) + m(buffer) + m(70), []string{"> " + m(90) + m(3*buffer) + m(80) + m(buffer+1) + m(buffer) + m(70)}, true},
		{"long ones behind each other", strings.Repeat(m(buffer+7), 9), []string{"> " + strings.Repeat(m(buffer+7), 9)}, true},
		{"no line end", m(90) + strings.TrimSuffix(m(3*buffer), "\n"), []string{"> " + m(90) + strings.TrimSuffix(m(3*buffer), "\n")}, true},
		{"no line end, the buffer", strings.TrimSuffix(m(buffer+1), "\n"), []string{"> " + strings.TrimSuffix(m(buffer+1), "\n")}, true},

		{"wanted: one byte less than the buffer", w(buffer - 1), []string{take(buffer - 1)}, false},
		{"wanted: the buffer", w(buffer), []string{take(buffer)}, false},
		{"wanted: one byte more", w(buffer + 1), []string{take(buffer + 1)}, false},
		{"wanted: 1 MiB", w(mib), []string{take(mib)}, false},
		{"wanted: as long as may be", w(max), []string{take(max)}, false},
		{"wanted among passed ones", m(90) + w(buffer+1) + m(80) + w(90) + w(3*buffer) + m(buffer+1) + w(80),
			[]string{"> " + m(90), take(buffer + 1), "> " + m(80), take(90), take(3 * buffer), "> " + m(buffer+1), take(80)}, true},
		{"wanted: no line end", strings.TrimSuffix(w(3*buffer), "\n"), []string{take(3 * buffer)}, false},
		{"wanted: too long", m(90) + w(max+1) + m(80), []string{"> " + m(90), "too long " + w(max)[:4096], "> " + m(80)}, false},
		{"wanted: much too long", m(90) + w(2*max) + w(80), []string{"> " + m(90), "too long " + w(max)[:4096], take(80)}, false},
		{"wanted: too long and no line end", strings.TrimSuffix(w(max+1), "\n") + "x", []string{"too long " + w(max)[:4096]}, false},

		{"call", call + "\n", []string{"> " + call + "\n"}, true},
		{"wanted answer", answer + "\n", []string{"handle " + answer}, false},
		{"wanted failure, id last", failure + "\n", []string{"handle " + failure}, false},
		{"failure, id last", strings.ReplaceAll(failure, `"id":1`, `"id":2`) + "\n", []string{"> " + strings.ReplaceAll(failure, `"id":1`, `"id":2`) + "\n"}, false},
		{"escaped method", escaped + "\n", []string{"handle " + escaped}, false},
		{"method last", late + "\n", []string{"handle " + late}, false},
		{"id over the buffer", longID + "\n", []string{"> " + longID + "\n"}, false},
		{"name over the buffer", longName + "\n", []string{"> " + longName + "\n"}, false},
		{"not JSON", strings.Repeat("x", 3*buffer) + "\n", []string{"> " + strings.Repeat("x", 3*buffer) + "\n"}, false},
		{"blanks", strings.Repeat(" ", 3*buffer) + "\n", []string{"> " + strings.Repeat(" ", 3*buffer) + "\n"}, false},
		// The prefix does not contain the method.
		{"unknown and too long", strings.Repeat("x", max) + "\n" + m(80), []string{"too long " + strings.Repeat("x", 4096), "> " + m(80)}, false},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole":           func(r io.Reader) io.Reader { return r },
		"halves":          iotest.HalfReader,
		"end with data":   iotest.DataErrReader,
		"a few at a time": func(r io.Reader) io.Reader { return &pieceReader{r: r, n: 100003} },
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for how, reader := range readers {
				d := &fakeHandler{methods: []string{"w"}, keys: []string{"1"}}
				d.pump(t, reader(strings.NewReader(test.text)), max)
				if got := d.joined(); !slices.Equal(got, test.want) {
					t.Errorf("%s: %q\nwant %q", how, abbreviate(got), abbreviate(test.want))
				}
				if slices.Contains(d.events, "> ") {
					t.Errorf("%s: an empty write", how)
				}
				if p := d.partial(); p != "" && !test.streams {
					t.Errorf("%s: a write without a line end: %q", how, abbreviate([]string{p}))
				}
			}
		})
	}
}

// pieceReader returns at most n bytes per read, and at most first bytes in the first read
// if first is not 0.
type pieceReader struct {
	r        io.Reader
	n, first int
}

func (p *pieceReader) Read(b []byte) (int, error) {
	n := p.n
	if p.first > 0 {
		n, p.first = p.first, 0
	}
	return p.r.Read(b[:min(len(b), max(n, 1))])
}

// Header framing can't stream, so every line has a maximum length.
func TestPumpLongLinesToHeaders(t *testing.T) {
	const max = mib
	m := func(n int) string { return notification("m", n) }
	text := m(90) + m(buffer+1) + m(max) + m(max+1) + notification("w", 3*buffer) + m(80)
	message := func(n int) string {
		return "> " + framed(`{"jsonrpc":"2.0",`+strings.TrimSuffix(m(n), "\n")[1:])
	}
	want := []string{message(90), message(buffer + 1), message(max), "too long " + m(max)[:4096],
		"handle " + strings.TrimSuffix(notification("w", 3*buffer), "\n"), message(80)}
	d := &fakeHandler{methods: []string{"w"}}
	if err := rpc.NewPump(rpc.NewHeaderSink(d), d, d, max).Run(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.events, want) {
		t.Errorf("%q\nwant %q", abbreviate(d.events), abbreviate(want))
	}
	// Without a Handler the line is dropped.
	d = &fakeHandler{}
	if err := rpc.NewPump(rpc.NewHeaderSink(d), nil, nil, max).Run(strings.NewReader(m(2*max) + m(80))); err != nil {
		t.Fatal(err)
	}
	if want := []string{message(80)}; !slices.Equal(d.events, want) {
		t.Errorf("%q\nwant %q", abbreviate(d.events), abbreviate(want))
	}
}

// Messages of other goroutines wait for the end of a long line.
func TestPumpBlocksOtherWritersDuringALongLine(t *testing.T) {
	const speakers, messages = 4, 25
	var d fakeHandler
	sink := rpc.NewLineSink(&d)
	text := notification("m", 90) + notification("m", 40*buffer) + notification("m", 80)
	start, speak := make(chan struct{}), sync.WaitGroup{}
	for i := range speakers {
		speak.Go(func() {
			<-start
			for n := range messages {
				sink.WriteMessage(fmt.Appendf(nil, `{"speaker":%d,"n":%d}`, i, n))
			}
		})
	}
	in := &burstReader{r: &pieceReader{r: strings.NewReader(text), n: 100003}, after: 5, start: start}
	if err := rpc.NewPump(sink, &fakeHandler{}, &fakeHandler{}, mib).Run(in); err != nil {
		t.Fatal(err)
	}
	speak.Wait()

	count := map[string]int{}
	for line := range strings.Lines(strings.Join(d.joined(), "")[2:]) {
		if strings.Contains(line, "speaker") && len(line) > 50 {
			t.Fatalf("a message stands inside a line: %q", abbreviate([]string{line}))
		}
		count[line]++
	}
	if count[notification("m", 40*buffer)] != 1 || count[notification("m", 90)] != 1 || count[notification("m", 80)] != 1 {
		t.Error("a line did not arrive as it was")
	}
	if len(count) != speakers*messages+3 {
		t.Errorf("%d different lines, want %d", len(count), speakers*messages+3)
	}
}

// burstReader closes start after some reads, so that others write in the middle of a line.
type burstReader struct {
	r     io.Reader
	after int
	start chan struct{}
}

func (s *burstReader) Read(b []byte) (int, error) {
	if s.after--; s.after == 0 {
		close(s.start)
	}
	return s.r.Read(b)
}

// A truncated line is forwarded up to its end with JSON Lines, and not at all with header
// framing. Its start is kept in either case.
func TestPumpTruncatedLine(t *testing.T) {
	const whole = `{"id":1,"result":{}}`
	for name, cut := range map[string]string{"short": `{"id":2,"res`, "long": `{"id":2,"result":"` + strings.Repeat("x", 2*buffer)} {
		for _, end := range []string{cut, whole} { // whole lacks only its line end
			lines, framed := &fakeHandler{}, &fakeHandler{}
			pump := rpc.NewPump(rpc.NewLineSink(lines), lines, lines, mib)
			if err := pump.Run(strings.NewReader(whole + "\n" + end)); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(lines.joined(), ""); got != "> "+whole+"\n"+end {
				t.Errorf("%s: lines: %.100q", name, got)
			}
			inFrames := rpc.NewPump(rpc.NewHeaderSink(framed), framed, framed, mib)
			if err := inFrames.Run(strings.NewReader(whole + "\n" + end)); err != nil {
				t.Fatal(err)
			}
			if n := len(framed.events); n != 1 && end == cut || n != 2 && end == whole {
				t.Errorf("%s: framed: %d messages, %.200q", name, n, framed.events)
			}
			for _, p := range []*rpc.Pump{pump, inFrames} {
				if start := string(p.TruncatedLine()); end == whole && start != "" || end == cut && (start == "" || !strings.HasPrefix(cut, start)) {
					t.Errorf("%s: cut off is %.100q", name, start)
				}
			}
		}
	}
}

// A Read without bytes, as the last one may be, causes no write.
func TestPumpWritesNothingEmpty(t *testing.T) {
	long := notification("m", 300)
	empty := 0
	for _, text := range []string{long, strings.TrimSuffix(long, "\n"), long + long} {
		d := &fakeHandler{}
		r := strings.NewReader(text)
		in := readerFunc(func(b []byte) (int, error) {
			if empty++; empty%3 == 0 {
				return 0, nil
			}
			return r.Read(b)
		})
		if err := rpc.NewPumpSize(rpc.NewLineSink(d), d, d, mib, 64).Run(in); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(d.joined(), ""); got != "> "+text || slices.Contains(d.events, "> ") {
			t.Errorf("%q, want %q without an empty write", d.events, text)
		}
	}
}
