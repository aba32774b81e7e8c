package rpc_test

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"codex-bridge.example/rpc"
)

// seed adds the texts of the tables and the captures.
func seed(f *testing.F, add func(text []byte)) {
	for _, test := range accepted {
		if len(test.line) < 4096 {
			add([]byte(test.line))
		}
	}
	for _, test := range refused {
		if len(test.line) < 4096 {
			add([]byte(test.line))
		}
	}
	for _, line := range append(captureLines(f, "in"), captureLines(f, "out")[:40]...) {
		add([]byte(line))
	}
}

// FuzzParser checks that accepted lines are strict JSON within Codex's limits, which
// encoding/json and Codex understand in the same way. A line rejected as JSON is not JSON
// or over a limit. The error reply must be readable for a client.
func FuzzParser(f *testing.F) {
	seed(f, func(text []byte) { f.Add(text) })
	f.Fuzz(func(t *testing.T, line []byte) {
		var p rpc.Parser
		_, shallow := p.Message(line, false)
		m, err := p.Message(line, true)
		if (shallow == nil) != (err == nil) {
			t.Fatalf("%q: shallow %v, deep %v", line, shallow, err)
		}
		var refused *rpc.MessageError
		if errors.As(err, &refused) {
			reply := rpc.EncodeError(refused.ID, err)
			if !isStrict(reply) || bytes.IndexByte(reply, '\n') >= 0 {
				t.Errorf("the reply to %q is %q", line, reply)
			}
		}

		doc, valueErr := rpc.ParseValue(line)
		_, openErr := rpc.ParseEnvelope(line)
		rpc.ParsePrefix(line)
		// The other parser has a maximum depth of 10,000.
		if len(line) < 10000 && isStrict(line) {
			s := shapeOf(t, line)
			within := !s.private && s.members <= rpc.MaxMembers
			if (valueErr == nil) != within || (openErr == nil) != within {
				t.Fatalf("%q is strict: ParseValue %v, Open %v", line, valueErr, openErr)
			}
			if within = within && s.depth <= rpc.MaxDepth; within != (err == nil || refused.Err.Code != rpc.CodeParse) {
				t.Fatalf("%q is strict, %+v: %v", line, s, err)
			}
		} else if len(line) < 10000 && (err == nil || valueErr == nil) {
			t.Fatalf("%q is not strict: Message %v, ParseValue %v", line, err, valueErr)
		}
		if valueErr == nil && !doc.Truncated() {
			same(t, doc.Root(), line)
		}
		if err == nil {
			if !codexAccepts(line) {
				t.Errorf("codex does not take %q", line)
			}
			if !bytes.Equal(m.Bytes(), line) {
				t.Errorf("%q has become %q", line, m.Bytes())
			}
		}
	})
}

// saltedFilter wants methods and responses by a hash of their names.
type saltedFilter struct {
	fakeHandler
	salt byte
}

func (p *saltedFilter) wantsName(name []byte) bool {
	return (crc32.ChecksumIEEE(name)+uint32(p.salt))%3 == 0
}
func (p *saltedFilter) WantsMethod(m []byte, _ bool) bool { return p.wantsName(m) }
func (p *saltedFilter) WantsResponse(k []byte) bool       { return p.wantsName(k) }
func (p *saltedFilter) MayWantResponse() bool             { return p.salt%2 == 0 }

// wants reports whether p has to handle a strict line.
func (p *saltedFilter) wants(line []byte) bool {
	e, err := rpc.ParseEnvelope(line)
	switch {
	case err != nil:
		return false
	case e.Method != "":
		return p.wantsName([]byte(e.Method))
	}
	return p.MayWantResponse() && p.wantsName([]byte(e.ID.Key()))
}

// FuzzPump checks that forwarded and handled lines together are the input, in order. The
// sizes of reads and of the buffer must not matter. The Observer sees all forwarded lines. A
// strict line is handled if, and only if, it is wanted.
func FuzzPump(f *testing.F) {
	add := func(text []byte) {
		f.Add(text, uint16(7), byte(0), byte(0))
		f.Add(text, uint16(len(text)/2), byte(64), byte(1))
	}
	add([]byte(sampleOfCodex))
	add([]byte(strings.TrimSpace(sampleOfCodex)))
	add([]byte(strings.Repeat(sampleOfCodex, 3)))
	seed(f, func(text []byte) {
		if len(text) < 2000 {
			add(append(text, "\n{\"method\":\"m\"}\n"...))
		}
	})
	p := rpc.NewPump(nil, nil, nil, mib) // all runs share its buffer
	f.Fuzz(func(t *testing.T, text []byte, piece uint16, size, salt byte) {
		whole := &saltedFilter{salt: salt}
		if err := p.With(rpc.NewLineSink(whole), whole, whole).Run(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if again := whole.reset(); again != string(text) && again != string(text)+"\n" {
			t.Fatalf("%q has become %q", text, whole.joined())
		}
		for i, e := range whole.events {
			if strings.HasPrefix(e, "> ") && !strings.HasSuffix(e, "\n") && i < len(whole.events)-1 {
				t.Fatalf("%q: a write without a line end: %q", text, e)
			}
		}

		parts := &saltedFilter{salt: salt}
		in := io.Reader(&pieceReader{r: bytes.NewReader(text), first: int(piece)%97 + 1, n: int(piece)})
		if salt%5 == 0 {
			in = iotest.DataErrReader(in)
		}
		var w fakeObserver
		pump := rpc.NewPumpSize(rpc.NewLineSink(parts), parts, parts, mib, int(size)+1)
		pump.Observe(&w)
		if err := pump.Run(in); err != nil {
			t.Fatal(err)
		}
		w.check(t, parts.events)
		if !slices.Equal(whole.joined(), parts.joined()) {
			t.Fatalf("%q in pieces has become\n%q, want\n%q", text, parts.joined(), whole.joined())
		}

		var want []string
		strict := true
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			strict = strict && isStrict([]byte(line)) && !isUnparsed([]byte(line))
			if strict && whole.wants([]byte(line)) {
				want = append(want, line)
			}
		}
		if strict && !slices.Equal(whole.handled(), want) {
			t.Fatalf("of %q was taken %q, want %q", text, whole.handled(), want)
		}
	})
}

// isUnparsed reports whether a line is both a request and a response, or a request with an
// empty method. Codex sends neither, and the first bytes may differ from the whole.
func isUnparsed(line []byte) bool {
	e, err := rpc.ParseEnvelope(line)
	if err != nil {
		return true
	}
	root := e.Root()
	return root.Get("method").Exists() && (e.Method == "" || root.Get("result").Exists() || root.Get("error").Exists())
}

func (d *fakeHandler) handled() []string {
	var lines []string
	for _, e := range d.events {
		if line, ok := strings.CutPrefix(e, "handle "); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// FuzzSource checks that no message is over the maximum and that each is one line. The
// sizes of reads must not matter, and only blank lines may be dropped.
func FuzzSource(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n\n{\"b\":2}\r\n{}"), uint16(100))
	f.Add([]byte("\r\n"+framed(`{"jsonrpc":"2.0","id":1,"method":"m"}`)+framed("{\n}")+framed("x")), uint16(100))
	f.Add([]byte("Content-Length: 5\r\nContent-Type: a\r\nX: y\r\n\r\n{\"a\""), uint16(3))
	f.Add([]byte("content-length: 2\n\n{}CONTENT-LENGTH:1000\n\n"+strings.Repeat("x", 1000)+framed("{}")), uint16(20))
	f.Add([]byte("Content-Length: -1\r\n\r\n"), uint16(20))
	f.Add([]byte("Content-Length: 99999999999999999999\r\n\r\n"), uint16(20))
	seed(f, func(text []byte) {
		f.Add(append(text, "\n{}\n"...), uint16(60000))
		f.Add(append([]byte(framed(string(text))), framed("{}")...), uint16(60000))
		f.Add(text, uint16(30))
	})
	f.Fuzz(func(t *testing.T, text []byte, bound uint16) {
		s, sink := rpc.DetectFraming(bytes.NewReader(text), io.Discard, int(bound))
		_, header := sink.(*rpc.HeaderSink)
		whole := read(t, s, len(text))
		s, _ = rpc.DetectFraming(iotest.OneByteReader(bytes.NewReader(text)), io.Discard, int(bound))
		if in := read(t, s, len(text)); !slices.Equal(whole, in) {
			t.Fatalf("%q byte by byte is\n%q, whole\n%q", text, in, whole)
		}

		refused := false
		var p rpc.Parser
		for _, line := range whole {
			if strings.HasPrefix(line, "refused ") {
				refused = true
				continue
			}
			if len(line) > int(bound)+1 { // a line end may have been added
				t.Fatalf("%q: a message of %d bytes, over %d", text, len(line), bound)
			}
			if _, err := p.Message([]byte(line), false); err == nil && strings.Contains(strings.TrimSuffix(line, "\n"), "\n") {
				t.Fatalf("%q: not one line, and accepted: %q", text, line)
			}
		}
		if !header && !refused {
			if got, want := strings.Join(whole, ""), withoutBlank(string(text)); got != want {
				t.Fatalf("%q has become %q", text, got)
			}
		}
	})
}

// read returns all messages of s, in no more steps than there are bytes.
func read(t *testing.T, s rpc.Source, steps int) []string {
	var all []string
	for range steps + 2 {
		line, err := s.Next()
		var r *rpc.MessageError
		switch {
		case errors.As(err, &r):
			all = append(all, "refused "+string(r.ID.Raw()))
		case err != nil:
			return all
		default:
			all = append(all, string(line))
		}
	}
	t.Fatalf("no end after %q", all)
	return nil
}

func withoutBlank(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimLeft(text, "\r\n")) {
		if strings.Trim(line, " \t\r\n") != "" {
			b.WriteString(line)
		}
	}
	return b.String()
}
