package rpc_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"codex-bridge.example/rpc"
)

// All messages of real clients are accepted, and forwarded to Codex byte for byte.
func TestCapturesOfClients(t *testing.T) {
	readers := map[string]func(io.Reader) io.Reader{
		"whole":        func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
		"halves":       iotest.HalfReader,
	}
	for name, text := range captures(t, "in") {
		for how, reader := range readers {
			var p rpc.Parser
			var out bytes.Buffer
			s, _ := rpc.DetectFraming(reader(bytes.NewReader(text)), io.Discard, mib)
			for n := 1; ; n++ {
				line, err := s.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s, line %d, %s: %v", name, n, how, err)
				}
				m, err := p.Message(line, true)
				if err != nil {
					t.Fatalf("%s, line %d, %s: %v", name, n, how, err)
				}
				if !codexAccepts(line) {
					t.Errorf("%s, line %d: codex does not take it?", name, n)
				}
				out.Write(m.Bytes())
			}
			if !bytes.Equal(out.Bytes(), text) {
				t.Errorf("%s, %s: Codex must get the lines of the client", name, how)
			}
		}
	}
}

// With the framing of LSP Codex gets the same lines.
func TestCapturesInHeaderFraming(t *testing.T) {
	for name, text := range captures(t, "in") {
		var in strings.Builder
		for line := range strings.Lines(string(text)) {
			in.WriteString(framed(`{"jsonrpc":"2.0",` + strings.TrimSpace(line)[1:]))
		}
		var want []string
		for line := range strings.Lines(string(text)) {
			want = append(want, compact(t, []byte(line)))
		}
		s, _ := rpc.DetectFraming(strings.NewReader(in.String()), io.Discard, mib)
		var got []string
		for _, line := range readAll(t, s) {
			if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
				t.Errorf("%s: not one line: %q", name, line)
			}
			got = append(got, compact(t, []byte(line)))
		}
		// The white space between the top-level members is removed with "jsonrpc".
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q\nwant %q", name, got, want)
		}
	}
}

// newFakeHandler returns a handler for some of Codex's messages in the captures.
func newFakeHandler() *fakeHandler {
	return &fakeHandler{methods: []string{"turn/completed", "item/commandExecution/requestApproval", "warning"}, keys: []string{"2", "5"}}
}

// Codex's lines are forwarded byte for byte, as whole lines, and the wanted ones are
// handled in order, wherever the reads end.
func TestCapturesOfCodex(t *testing.T) {
	for name, text := range captures(t, "out") {
		for how, reader := range map[string]func(io.Reader) io.Reader{
			"whole":         func(r io.Reader) io.Reader { return r },
			"byte by byte":  iotest.OneByteReader,
			"halves":        iotest.HalfReader,
			"end with data": iotest.DataErrReader,
			"a page":        func(r io.Reader) io.Reader { return &pieceReader{r: r, n: 4096} },
		} {
			d := &fakeHandler{}
			d.pump(t, reader(bytes.NewReader(text)), mib)
			if got := strings.Join(d.joined(), ""); got != "> "+string(text) || d.partial() != "" {
				t.Errorf("%s, %s: the client must get the lines of Codex", name, how)
			}
			d = newFakeHandler()
			d.pump(t, reader(bytes.NewReader(text)), mib)
			if got := d.reset(); got != string(text) || d.partial() != "" {
				t.Errorf("%s, %s: forwarded and handled lines must be those of Codex", name, how)
			}
		}
	}
}

// reset clears d and returns the text that its events were made of.
func (d *fakeHandler) reset() string {
	var b strings.Builder
	for _, e := range d.events {
		if line, ok := strings.CutPrefix(e, "handle "); ok {
			b.WriteString(line + "\n")
			continue
		}
		b.WriteString(strings.TrimPrefix(e, "> "))
	}
	return b.String()
}

// split returns a reader that returns the text in two reads.
func split(text []byte, at int) io.Reader {
	return io.MultiReader(bytes.NewReader(text[:at]), bytes.NewReader(text[at:]))
}

func TestSplitAtEveryByte(t *testing.T) {
	sample := []byte(sampleOfCodex)
	for _, text := range captureLines(t, "out") {
		if len(sample)+len(text) < 4<<10 {
			sample = append(sample, text...)
		}
	}
	want := newFakeHandler()
	want.pump(t, bytes.NewReader(sample), mib)
	if len(want.joined()) < 8 {
		t.Fatalf("the sample has too little that is wanted: %q", want.joined())
	}
	for at := range len(sample) + 1 {
		d := newFakeHandler()
		d.pump(t, split(sample, at), mib)
		if !slices.Equal(d.joined(), want.joined()) || d.partial() != "" {
			t.Fatalf("split at byte %d: %q", at, d.joined())
		}
		// A buffer so short that most lines are longer.
		d = newFakeHandler()
		if err := rpc.NewPumpSize(rpc.NewLineSink(d), d, d, mib, 64).Run(split(sample, at)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.joined(), want.joined()) {
			t.Fatalf("split at byte %d, short buffer: %q", at, d.joined())
		}
	}
}

// sampleOfCodex has each form of a line from Codex.
const sampleOfCodex = `{"method":"item/agentMessage/delta","params":{"delta":"é"}}
{"method":"turn/completed","params":{}}
{"id":2,"result":{}}
{"id":3,"result":{}}
{"id":"2","result":{}}
{"error":{"code":-1,"message":"no"},"id":5}
{"id":5,"error":{}}
{"id":0,"method":"item/commandExecution/requestApproval","params":{"a":[]}}
{"id":2,"method":"item/fileChange/requestApproval","params":{}}
{"params":{},"method":"warning"}
{"method":"w\u0061rning"}

hello
`

func TestSplitCaptures(t *testing.T) {
	for name, text := range captures(t, "out") {
		want := newFakeHandler()
		want.pump(t, bytes.NewReader(text), mib)
		p := rpc.NewPump(nil, nil, nil, mib) // all runs share its buffer
		for at := 0; at < len(text); at += len(text)/300 + 1 {
			d := newFakeHandler()
			if err := p.With(rpc.NewLineSink(d), d, d).Run(split(text, at)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.joined(), want.joined()) || d.partial() != "" {
				t.Fatalf("%s, split at byte %d", name, at)
			}
		}
	}
}
