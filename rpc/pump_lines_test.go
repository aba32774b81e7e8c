package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

// lineHandler is a fakeHandler that wants lines by their content.
type lineHandler struct{ fakeHandler }

func (r *lineHandler) WantsLine(method, line []byte) rpc.Want {
	switch {
	case string(method) != "w":
	case bytes.Contains(line, []byte("yes")):
		return rpc.ToHandler
	case bytes.Contains(line, []byte("read")):
		return rpc.ReadOnly
	}
	return rpc.Forward
}

func (r *lineHandler) Read(e *rpc.Envelope) { r.note("read ", e.Root().Raw()) }
func (r *lineHandler) Written()             { r.note("written", nil) }

// ForwardedLines and ForwardedPart implement rpc.Observer.
func (r *lineHandler) ForwardedLines(lines []byte, count int) {
	r.note(fmt.Sprintf("observed %d ", count), lines)
}
func (r *lineHandler) ForwardedPart([]byte, bool) {}

// Of one method some notifications are wanted and others forwarded, in order. A forwarded one does
// not decide the next. Requests are always wanted.
func TestPumpLines(t *testing.T) {
	no, yes := `{"method":"w","params":"no"}`, `{"method":"w","params":"yes"}`
	request := `{"id":1,"method":"w","params":"no"}`
	long := `{"method":"w","params":"` + strings.Repeat("x", 2*rpc.PumpBufferSize)
	lines := []struct {
		line  string
		taken bool
	}{
		{no, false}, {no, false}, {yes, true}, {no, false}, {`{"method":"m","params":"yes"}`, false}, {yes, true}, {request, true}, {no, false},
		{long + ` yes"}`, true}, {long + ` no"}`, false}, {yes, true}, {`{"params":"no","method":"w"}`, true},
	}
	var in strings.Builder
	var want []string
	for _, l := range lines {
		in.WriteString(l.line + "\n")
		switch last := len(want) - 1; {
		case l.taken:
			want = append(want, "handle "+l.line)
		case last >= 0 && strings.HasPrefix(want[last], "> "):
			want[last] += l.line + "\n"
		default:
			want = append(want, "> "+l.line+"\n")
		}
	}
	r := &lineHandler{fakeHandler{methods: []string{"w"}}}
	if err := rpc.NewPump(rpc.NewLineSink(r), r, r, 4*mib).Run(strings.NewReader(in.String())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.joined()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A notification that is only read is forwarded in one write with its neighbours. The Observer and
// the reader get all in order, before the write. A handled line comes after the write.
func TestPumpReadsForwardedLines(t *testing.T) {
	a, read, yes := `{"method":"a"}`+"\n", `{"method":"w","params":"read"}`, `{"method":"w","params":"yes"}`
	request, faulty := `{"method":"w","params":"read","id":1}`, `{"method":"w","params":"read"`
	long := `{"method":"w","params":"read` + strings.Repeat("x", 2*rpc.PumpBufferSize) + `"}`
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"among others", a + a + read + "\n" + a + read + "\n" + a, []string{
			"observed 3 " + a + a + read + "\n", "read " + read, "observed 2 " + a + read + "\n", "read " + read, "observed 1 " + a,
			"> " + a + a + read + "\n" + a + read + "\n" + a, "written",
		}},
		{"at the end of a run", a + read + "\n" + yes + "\n" + a, []string{
			"observed 2 " + a + read + "\n", "read " + read, "> " + a + read + "\n", "written", "handle " + yes, "observed 1 " + a, "> " + a,
		}},
		{"first", read + "\n", []string{"observed 1 " + read + "\n", "read " + read, "> " + read + "\n", "written"}},
		{"a request after all", a + request + "\n", []string{"observed 1 " + a, "> " + a, "handle " + request}},
		{"not JSON", faulty + "\n", []string{"handle " + faulty}},
		{"without a line end", read, []string{"handle " + read}},
		{"longer than the buffer", long + "\n", []string{"handle " + long}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &lineHandler{fakeHandler{methods: []string{"w"}}}
			p := rpc.NewPump(rpc.NewLineSink(r), r, r, 4*mib)
			p.Observe(r)
			if err := p.Run(strings.NewReader(test.text)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, r.events); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// keeper keeps the messages that it reads.
type keeper struct {
	mapFilter
	kept []*rpc.Envelope
}

func (*keeper) WantsLine([]byte, []byte) rpc.Want { return rpc.ReadOnly }
func (k *keeper) Read(e *rpc.Envelope)            { k.kept = append(k.kept, e.Clone()) }
func (*keeper) Written()                          {}

// The Pump reuses the memory of a message, but not that of a Clone.
func TestReadMessageCanBeKept(t *testing.T) {
	k := &keeper{mapFilter: mapFilter{methods: map[string]bool{"w": true}}}
	text := `{"method":"w","params":{"a":[1,2,3]}}` + "\n" + `{"method":"w","params":{"text":"another"}}` + "\n"
	if err := rpc.NewPump(rpc.NewLineSink(io.Discard), k, k, mib).Run(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range k.kept {
		got = append(got, fmt.Sprintf("%s %d %s", e.Method, e.Root().Get("params").Get("a").Len(), e.Root().Get("params").Get("text").Raw()))
	}
	if diff := cmp.Diff([]string{"w 3 ", `w 0 "another"`}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// laterFilter wants "w" once "now" was handled, or once the test says so.
type laterFilter struct {
	fakeHandler
	wakes bool
}

func (r *laterFilter) WantsMethod(m []byte, _ bool) bool {
	return string(m) == "now" || r.wakes && string(m) == "w"
}

func (r *laterFilter) Handle(line []byte) {
	r.wakes = true
	r.fakeHandler.Handle(line)
}

// The result of the Filter may change after a handled line or a read. The memory of the last
// forwarded line must not hide that.
func TestPumpAsksFilterAgainAfterHandledLine(t *testing.T) {
	w, now := `{"method":"w","params":1}`, `{"method":"now","params":1}`
	t.Run("a taken line", func(t *testing.T) {
		r := &laterFilter{}
		if err := rpc.NewPump(rpc.NewLineSink(r), r, r, mib).Run(strings.NewReader(w + "\n" + now + "\n" + w + "\n")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"> " + w + "\n", "handle " + now, "handle " + w}, r.events); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("another read", func(t *testing.T) {
		r := &laterFilter{}
		second := readerFunc(func(b []byte) (int, error) {
			if r.wakes {
				return 0, io.EOF
			}
			r.wakes = true
			return copy(b, w+"\n"), nil
		})
		if err := rpc.NewPump(rpc.NewLineSink(r), r, r, mib).Run(io.MultiReader(strings.NewReader(w+"\n"), second)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"> " + w + "\n", "handle " + w}, r.events); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// countingFilter wants no notifications, all requests and responses, and counts its calls.
type countingFilter struct {
	fakeHandler
	methods int
}

func (r *countingFilter) WantsMethod(_ []byte, request bool) bool {
	r.methods++
	return request
}
func (r *countingFilter) WantsResponse([]byte) bool { return true }
func (r *countingFilter) MayWantResponse() bool     { return true }

// A Filter is asked once for a series of notifications of one method, and for each request.
func TestPumpAsksOnceForAStream(t *testing.T) {
	stream := strings.Repeat(`{"method":"m","params":1}`+"\n", 50)
	request := `{"method":"m","id":1,"params":2}`
	for _, test := range []struct {
		name, text string
		methods    int
		want       []string
	}{
		{"stream", stream, 1, []string{"> " + stream}},
		{"nothing behind the first byte of params", strings.Repeat(`{"method":"m","p`+"\n", 3), 1, []string{"> " + strings.Repeat(`{"method":"m","p`+"\n", 3)}},
		{"no name", `{"method":"","params":1}` + "\n", 1, []string{"> " + `{"method":"","params":1}` + "\n"}},
		{"two streams", stream + strings.ReplaceAll(stream, `"m"`, `"n"`), 2, []string{"> " + stream + strings.ReplaceAll(stream, `"m"`, `"n"`)}},
		{"a request in it", stream + request + "\n" + stream, 3, []string{"> " + stream, "handle " + request, "> " + stream}},
	} {
		r := &countingFilter{}
		if err := rpc.NewPump(rpc.NewLineSink(r), r, r, mib).Run(strings.NewReader(test.text)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, r.joined()); diff != "" || r.methods != test.methods {
			t.Errorf("%s: asked %d times, want %d; -want +got\n%s", test.name, r.methods, test.methods, diff)
		}
	}
}

// A message without an id is not a response, even if all responses are wanted.
func TestPumpForwardsResponsesWithoutAnID(t *testing.T) {
	text := `{"id":,"result":{}}` + "\n" + `{"id":,"error":{}}` + "\n"
	r := &countingFilter{}
	if err := rpc.NewPump(rpc.NewLineSink(r), r, r, mib).Run(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"> " + text}, r.events); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A line may end at any byte of the buffer, including the last.
func TestPumpLineEndsAnywhereInTheBuffer(t *testing.T) {
	const size = 64
	for n := 13; n <= 2*size; n++ {
		for _, form := range []string{`{"method":"%"}`, `{"method":"%","params":1}`} {
			line := strings.ReplaceAll(form, "%", strings.Repeat("m", max(0, n-len(form)))) + "\n"
			text := strings.Repeat(line, 3)
			d := &fakeHandler{}
			in := io.MultiReader(strings.NewReader(line), strings.NewReader(line), strings.NewReader(line))
			if err := rpc.NewPumpSize(rpc.NewLineSink(d), d, d, mib, size).Run(in); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(d.joined(), ""); got != "> "+text {
				t.Fatalf("lines of %d bytes: %q, want %q", len(line), got, text)
			}
		}
	}
}
