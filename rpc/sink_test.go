package rpc_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

// recorder keeps each write. From write number failAt on it fails, unless that is 0. It has
// no lock, so the race detector finds concurrent writes.
type recorder struct {
	writes []string
	failAt int
	tried  int
}

var errGone = errors.New("client gone")

func (r *recorder) Write(b []byte) (int, error) {
	r.tried++
	if r.failAt > 0 && r.tried >= r.failAt {
		return 0, errGone
	}
	r.writes = append(r.writes, string(b))
	return len(b), nil
}

func TestLineSink(t *testing.T) {
	var w recorder
	s := rpc.NewLineSink(&w)
	s.WriteMessage([]byte(`{"a":1}`))
	s.WriteLines([]byte("{}\n[]\n"))
	s.WriteMessage(nil)
	s.BeginLine([]byte("long "))
	s.ContinueLine([]byte("lines "))
	s.ContinueLine([]byte("end\n"))
	s.EndLine()
	s.WriteMessage([]byte(`"` + strings.Repeat("x", rpc.PumpBufferSize) + `"`)) // its buffer is released
	s.WriteMessage([]byte(`{"b":2}`))
	want := []string{"{\"a\":1}\n", "{}\n[]\n", "\n", "long ", "lines ", "end\n",
		`"` + strings.Repeat("x", rpc.PumpBufferSize) + "\"\n", "{\"b\":2}\n"}
	if diff := cmp.Diff(want, w.writes); diff != "" {
		t.Error(diff)
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

// A line that Codex has not finished is forwarded as it is. The next message starts a new line.
func TestLineSinkAfterTruncatedLine(t *testing.T) {
	var w recorder
	s := rpc.NewLineSink(&w)
	s.WriteLines([]byte("{}\n{\"a\":"))
	s.WriteMessage([]byte("1"))
	s.WriteMessage([]byte("2"))
	s.BeginLine([]byte("long "))
	s.ContinueLine([]byte("line"))
	s.ContinueLine(nil)
	s.EndLine()
	s.WriteMessage([]byte("3"))
	want := []string{"{}\n{\"a\":", "\n1\n", "2\n", "long ", "line", "", "\n3\n"}
	if diff := cmp.Diff(want, w.writes); diff != "" {
		t.Error(diff)
	}
}

// A Sink must not write into a message: it may be a part of a longer text.
func TestSinkDoesNotChangeTheMessage(t *testing.T) {
	text := []byte(`{"a":1}{"b":2}`)
	rpc.NewLineSink(&recorder{}).WriteMessage(text[:7])
	rpc.NewHeaderSink(&recorder{}).WriteMessage(text[:7])
	if string(text) != `{"a":1}{"b":2}` {
		t.Errorf("the text has become %q", text)
	}
}

func TestHeaderSink(t *testing.T) {
	header := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	long := strings.Repeat("漢", rpc.PumpBufferSize)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"object", `{"id":1,"result":{}}`, []string{header(`{"jsonrpc":"2.0","id":1,"result":{}}`)}},
		{"empty object", `{}`, []string{header(`{"jsonrpc":"2.0"}`)}},
		{"empty object with a blank", `{ }`, []string{header(`{"jsonrpc":"2.0" }`)}},
		{"white space around", " {\"a\":1}\r", []string{header(`{"jsonrpc":"2.0","a":1}`)}},
		{"white space inside", `{ "a" : 1 }`, []string{header(`{"jsonrpc":"2.0", "a" : 1 }`)}},
		{"line end of Windows", "{\"a\":1}\r\n", []string{header(`{"jsonrpc":"2.0","a":1}`)}},
		{"multi-byte text", `{"a":"é漢😀"}`, []string{header(`{"jsonrpc":"2.0","a":"é漢😀"}`)}},
		{"long", `{"a":"` + long + `"}`, []string{header(`{"jsonrpc":"2.0","a":"` + long + `"}`)}},
		{"several lines", "{\"a\":1}\n{\"b\":2}\n\n{}\n", []string{header(`{"jsonrpc":"2.0","a":1}`), header(`{"jsonrpc":"2.0","b":2}`), header(`{"jsonrpc":"2.0"}`)}},
		{"blank line in front", "\n{\"a\":1}\n{\"b\":2}\n", []string{header(`{"jsonrpc":"2.0","a":1}`), header(`{"jsonrpc":"2.0","b":2}`)}},
		{"no line end", "{\"a\":1}\n{\"b\":2}", []string{header(`{"jsonrpc":"2.0","a":1}`), header(`{"jsonrpc":"2.0","b":2}`)}},
		{"no object", "[]\nhello\n1\n{\n", nil},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var w recorder
			s := rpc.NewHeaderSink(&w)
			s.WriteLines([]byte(test.text))
			if diff := cmp.Diff(test.want, w.writes); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(test.text, "\n") {
				w.writes = nil
				s.WriteMessage([]byte(test.text))
				if diff := cmp.Diff(test.want, w.writes); diff != "" {
					t.Errorf("Message:\n%s", diff)
				}
			}
			// A Source must be able to read the result.
			read, _ := rpc.DetectFraming(strings.NewReader(strings.Join(w.writes, "")), nil, 1<<30)
			for range w.writes {
				line, err := read.Next()
				if err != nil || !isStrict(line) {
					t.Errorf("read back it is %.100q, %v", line, err)
				}
			}
		})
	}
	if _, ok := rpc.Sink(rpc.NewHeaderSink(&recorder{})).(rpc.Streamer); ok {
		t.Error("headers stream, though they need the length first")
	}
}

// After a failed write half a message may have been sent. Later bytes would become its rest.
func TestSinkIsDeadAfterAFailure(t *testing.T) {
	sinks := map[string]func(*recorder) rpc.Sink{
		"lines":   func(r *recorder) rpc.Sink { return rpc.NewLineSink(r) },
		"headers": func(r *recorder) rpc.Sink { return rpc.NewHeaderSink(r) },
	}
	for name, make := range sinks {
		t.Run(name, func(t *testing.T) {
			w := &recorder{failAt: 2}
			s := make(w)
			s.WriteMessage([]byte(`{"a":1}`))
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			for range 3 {
				s.WriteLines([]byte("{\"b\":2}\n"))
				s.WriteMessage([]byte(`{"c":3}`))
				if s, ok := s.(rpc.Streamer); ok {
					s.BeginLine([]byte("{"))
					s.ContinueLine([]byte("}\n"))
					s.EndLine()
				}
			}
			if w.tried != 2 || len(w.writes) != 1 || !errors.Is(s.Err(), errGone) {
				t.Errorf("%d writes tried, %d done; Err is %v", w.tried, len(w.writes), s.Err())
			}
		})
	}
}

// Messages come from many goroutines, also while a line is written in parts. Each must
// arrive whole.
func TestSinkFromManyGoroutines(t *testing.T) {
	const speakers, messages = 8, 50
	var w recorder
	s := rpc.NewLineSink(&w)
	var speaking sync.WaitGroup
	for i := range speakers {
		speaking.Go(func() {
			for n := range messages {
				s.WriteMessage(fmt.Appendf(nil, `{"speaker":%d,"n":%d}`, i, n))
				_ = s.Err()
			}
		})
	}
	for range messages {
		s.WriteLines([]byte("{\"run\":1}\n{\"run\":2}\n"))
		s.BeginLine([]byte(`{"long":"`))
		s.ContinueLine([]byte(`and longer`))
		s.ContinueLine([]byte("\"}\n"))
		s.EndLine()
	}
	speaking.Wait()
	lines := map[string]int{}
	for line := range strings.Lines(strings.Join(w.writes, "")) {
		lines[line]++
	}
	want := map[string]int{"{\"run\":1}\n": messages, "{\"run\":2}\n": messages, "{\"long\":\"and longer\"}\n": messages}
	for i := range speakers {
		for n := range messages {
			want[fmt.Sprintf("{\"speaker\":%d,\"n\":%d}\n", i, n)] = 1
		}
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
