package rpc_test

import (
	"bytes"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// fakeObserver keeps the forwarded bytes and the number of lines.
type fakeObserver struct {
	text  bytes.Buffer
	lines int
	open  bool // within a line that comes in parts
}

func (w *fakeObserver) ForwardedLines(lines []byte, count int) {
	w.text.Write(lines)
	w.lines += count
}

func (w *fakeObserver) ForwardedPart(part []byte, last bool) {
	w.text.Write(part)
	if w.open = !last; last {
		w.lines++
	}
}

// check compares the observed bytes with the written ones.
func (w *fakeObserver) check(t *testing.T, events []string) {
	t.Helper()
	var written strings.Builder
	for _, e := range events {
		if text, ok := strings.CutPrefix(e, "> "); ok {
			written.WriteString(text)
		}
	}
	text := written.String()
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	if w.text.String() != text || w.lines != lines || w.open {
		t.Fatalf("told %q, %d lines, in parts still: %t; written %q, %d lines", w.text.String(), w.lines, w.open, text, lines)
	}
}

// An Observer sees all forwarded lines and no others: runs, parts, lines gathered for header
// framing, and a last line without a line end.
func TestPumpObserved(t *testing.T) {
	long := notification("m", 3*buffer)
	for name, text := range map[string]string{
		"run":                    notification("m", 80) + notification("n", 90) + notification("w", 70) + notification("m", 60),
		"long":                   notification("m", 80) + long + notification("m", 80),
		"long without an end":    notification("m", 80) + strings.TrimSpace(long),
		"as long as the buffer":  strings.TrimSpace(notification("m", buffer)) + "\n",
		"cut behind the buffer":  long[:buffer],
		"short without an end":   strings.TrimSpace(notification("m", 80)),
		"only what is wanted":    notification("w", 80) + notification("w", 3*buffer),
		"wanted without an end":  strings.TrimSpace(notification("w", 80)),
		"nothing":                "",
		"line ends, and nothing": "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeHandler{methods: []string{"w"}}
			var w fakeObserver
			pump := rpc.NewPump(rpc.NewLineSink(d), d, d, 4*mib)
			pump.Observe(&w)
			if err := pump.Run(strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			w.check(t, d.events)
		})
	}
	d := &fakeHandler{methods: []string{"w"}}
	var w fakeObserver
	pump := rpc.NewPump(rpc.NewHeaderSink(d), d, d, 4*mib)
	pump.Observe(&w)
	if err := pump.Run(strings.NewReader(long + notification("w", 80))); err != nil {
		t.Fatal(err)
	}
	if w.text.String() != long || w.lines != 1 {
		t.Errorf("observed %d bytes, %d lines", w.text.Len(), w.lines)
	}
}
