package rpc_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

// fakeHandler wants some methods and responses, and keeps all events in order: "> " is a
// write to the client, "handle " a handled line, "too long " the start of a too long line.
type fakeHandler struct {
	methods, keys []string
	events        []string
}

func (d *fakeHandler) WantsMethod(m []byte, _ bool) bool {
	return slices.Contains(d.methods, string(m))
}
func (d *fakeHandler) WantsResponse(k []byte) bool { return slices.Contains(d.keys, string(k)) }
func (d *fakeHandler) MayWantResponse() bool       { return len(d.keys) > 0 }
func (d *fakeHandler) Handle(line []byte)          { d.note("handle ", line) }
func (d *fakeHandler) HandleTooLong(start []byte)  { d.note("too long ", start) }

func (d *fakeHandler) Write(b []byte) (int, error) {
	d.note("> ", b)
	return len(b), nil
}

func (d *fakeHandler) note(what string, b []byte) { d.events = append(d.events, what+string(b)) }

// joined returns the events with neighbouring writes joined: their number depends on the
// size of each Read.
func (d *fakeHandler) joined() []string {
	var all []string
	for _, e := range d.events {
		if last := len(all) - 1; last >= 0 && strings.HasPrefix(e, "> ") && strings.HasPrefix(all[last], "> ") {
			all[last] += e[2:]
			continue
		}
		all = append(all, e)
	}
	return all
}

// pump runs a Pump of JSON Lines from in to d.
func (d *fakeHandler) pump(t *testing.T, in io.Reader, max int) {
	t.Helper()
	if err := rpc.NewPump(rpc.NewLineSink(d), d, d, max).Run(in); err != nil {
		t.Fatal(err)
	}
}

const mib = 1 << 20

func TestPump(t *testing.T) {
	wanted := &fakeHandler{methods: []string{"w", "a/b", "é"}, keys: []string{`1`, `"s`, `"a"b`, `-7`, `"é`, `"x,y`}}
	passes := []struct{ name, line string }{
		{"notification", `{"method":"m","params":{}}`},
		{"longer name", `{"method":"ww","params":{}}`},
		{"shorter name", `{"method":"","params":{}}`},
		{"other case", `{"method":"W"}`},
		{"request", `{"id":1,"method":"m","params":{}}`}, // 1 is Codex's own id here
		{"request with a string id", `{"id":"s","method":"m"}`},
		{"answer", `{"id":2,"result":{}}`},
		{"answer to a string", `{"id":"1","result":{}}`},
		{"answer to a longer number", `{"id":11,"result":{}}`},
		{"failure", `{"id":2,"error":{}}`},
		{"failure, id last", `{"error":{"code":1,"message":"m"},"id":2}`},
		{"wanted id inside", `{"error":{"id":1},"id":2}`},
		{"wanted method inside", `{"method":"m","params":{"method":"w"}}`},
		{"wanted method inside a result", `{"id":2,"result":{"method":"w"}}`},
		{"wanted method in a text", `{"params":"\"method\":\"w\"","method":"m"}`},
		{"method last", `{"params":{},"method":"m"}`},
		{"null id", `{"error":{"code":1},"id":null}`},
		{"method not a string", `{"method":1}`},
		{"method in another case", `{"Method":"w"}`},
		// The client may understand a line that is not a message.
		{"not JSON", `hello`},
		{"half", `{"params":{},"method":"w"`},
		{"half a name", `{"method":"w`},
		{"array", `["method","w"]`},
		{"number", `1`},
		{"id only", `{"id":9}`},
		{"empty", ``},
		{"blank", " \t\r"},
		{"NUL", "\x00"},
		{"not UTF-8", "{\"a\":\"\xff\",\"method\":\"w\"}"},
		{"lone surrogate for an id", `{"id":"\ud800","result":{}}`},
		{"broken escapes for an id", `{"id":"\u1\uzzzz\q\\","result":{}}`},
		{"broken escape at the end of an id", `{"id":"\u123\\","result":{}}`},
	}
	takes := []struct{ name, line string }{
		{"notification", `{"method":"w","params":{}}`},
		{"nothing but the method", `{"method":"w"}`},
		{"request", `{"id":5,"method":"w","params":{}}`},
		{"request with a string id", `{"id":"x\"y","method":"w"}`},
		{"method last", `{"params":{"method":"m"},"method":"w"}`},
		{"method behind the params", `{"id":5,"params":{},"method":"w"}`},
		{"white space", `{ "method" : "w" }`},
		{"white space in front", ` {"method":"w"}`},
		{"blank behind the colon", `{"method": "w"}`},
		{"escaped method", `{"method":"\u0077"}`},
		{"escaped slash", `{"method":"a\/b"}`},
		{"slash", `{"method":"a/b"}`},
		{"escaped key", `{"m\u0065thod":"w"}`},
		{"escaped method behind an id", `{"id":1,"method":"\u0077"}`},
		{"not in ASCII", `{"method":"é"}`},
		{"CRLF", `{"method":"w"}` + "\r"},
		{"answer", `{"id":1,"result":{}}`},
		{"answer null", `{"id":1,"result":null}`},
		{"negative", `{"id":-7,"result":{}}`},
		{"failure", `{"id":1,"error":{"code":1}}`},
		{"failure, id last", `{"error":{"code":1,"message":"{\"id\":2}"},"id":1}`},
		{"failure to a string, id last", `{"error":{"code":1},"id":"s"}`},
		{"answer to a string", `{"id":"s","result":{}}`},
		{"escaped", `{"id":"\u0073","result":{}}`},
		{"escaped quote", `{"id":"a\"b","result":{}}`},
		{"not in ASCII, answer", `{"id":"é","result":{}}`},
		{"escaped, not in ASCII", `{"id":"\u00e9","result":{}}`},
		{"comma in the id", `{"id":"x,y","result":{}}`},
		{"result first", `{"result":{"id":2},"id":1}`},
		{"other members", `{"emittedAtMs":5,"id":1,"result":{}}`},
		{"white space, answer", `{"id": 1,"result":{}}`},
		// Its method is known; the Handler finds that the line is broken.
		{"broken behind its method", `{"method":"w","params":`},
	}

	const before, behind = `{"method":"before"}`, `{"method":"behind"}`
	for _, test := range passes {
		t.Run("passes "+test.name, func(t *testing.T) {
			text := before + "\n" + test.line + "\n" + behind + "\n"
			d := &fakeHandler{methods: wanted.methods, keys: wanted.keys}
			d.pump(t, strings.NewReader(text), mib)
			if diff := cmp.Diff([]string{"> " + text}, d.events); diff != "" {
				t.Error(diff) // also if there is more than one write
			}
		})
	}
	for _, test := range takes {
		t.Run("takes "+test.name, func(t *testing.T) {
			d := &fakeHandler{methods: wanted.methods, keys: wanted.keys}
			d.pump(t, strings.NewReader(before+"\n"+test.line+"\n"+behind+"\n"), mib)
			if diff := cmp.Diff([]string{"> " + before + "\n", "handle " + test.line, "> " + behind + "\n"}, d.events); diff != "" {
				t.Error(diff)
			}
			// The only line.
			d = &fakeHandler{methods: wanted.methods, keys: wanted.keys}
			d.pump(t, strings.NewReader(test.line+"\n"), mib)
			if diff := cmp.Diff([]string{"handle " + test.line}, d.events); diff != "" {
				t.Error(diff)
			}
		})
	}

	t.Run("all at once", func(t *testing.T) {
		d := &fakeHandler{methods: wanted.methods, keys: wanted.keys}
		var text strings.Builder
		var want []string
		for i := range max(len(passes), len(takes)) {
			pass, take := passes[i%len(passes)].line, takes[i%len(takes)].line
			text.WriteString(pass + "\n" + pass + "\n" + take + "\n")
			want = append(want, "> "+pass+"\n"+pass+"\n", "handle "+take)
		}
		d.pump(t, strings.NewReader(text.String()), mib)
		if diff := cmp.Diff(want, d.events); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("nobody wants anything", func(t *testing.T) {
		for _, test := range takes {
			d := &fakeHandler{}
			d.pump(t, strings.NewReader(test.line+"\n"), mib)
			if diff := cmp.Diff([]string{"> " + test.line + "\n"}, d.events); diff != "" {
				t.Errorf("%s:\n%s", test.name, diff)
			}
			var out bytes.Buffer
			if err := rpc.NewPump(rpc.NewLineSink(&out), nil, nil, mib).Run(strings.NewReader(test.line + "\n")); err != nil || out.String() != test.line+"\n" {
				t.Errorf("%s: without a sieve %q, %v", test.name, out.String(), err)
			}
		}
	})
}

// The start of the last forwarded line must not decide a method with the same prefix, or a
// message in another form.
func TestPumpDistinguishesMethodsWithACommonPrefix(t *testing.T) {
	lines := []string{`{"method":"m"}`, `{"method":"mw"}`, `{"method":"m"}`, `{"method":"m/w"}`, `{"method":"m","params":{}}`,
		`{"id":1,"method":"m"}`, `{"id":1,"method":"mw"}`, `{"id":11,"method":"mw"}`, `{"method":"ml"}`, `{"method":"mlw"}`, `{"method":"` + strings.Repeat("m", 300) + `"}`,
		`{"method":"` + strings.Repeat("m", 300) + `w"}`, `{"method":"m"}`}
	var want []string
	for _, line := range lines {
		if strings.Contains(line, "w") {
			want = append(want, line)
		}
	}
	d := &fakeHandler{methods: []string{"mw", "m/w", "mlw", strings.Repeat("m", 300) + "w"}}
	d.pump(t, strings.NewReader(strings.Join(lines, "\n")+"\n"), mib)
	if diff := cmp.Diff(want, d.handled()); diff != "" {
		t.Error(diff)
	}
}

// The last line has no line end if Codex ended within it. It is forwarded unless the
// Handler wants it: a wanted line must not reach the client undecided.
func TestPumpLastLine(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"whole", `{"method":"m"}`, []string{`> {"method":"m"}`}},
		{"half", `{"method":"m","par`, []string{`> {"method":"m","par`}},
		{"behind another", `{"method":"m"}` + "\n" + `{"me`, []string{`> {"method":"m"}` + "\n", `> {"me`}},
		{"wanted", `{"method":"w"}`, []string{`handle {"method":"w"}`}},
		{"wanted half", `{"method":"w","par`, []string{`handle {"method":"w","par`}},
		{"wanted answer", `{"id":1,"result":`, []string{`handle {"id":1,"result":`}},
		{"half a wanted name", `{"method":"w`, []string{`> {"method":"w`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := &fakeHandler{methods: []string{"w"}, keys: []string{"1"}}
			d.pump(t, strings.NewReader(test.text), mib)
			if diff := cmp.Diff(test.want, d.events); diff != "" {
				t.Error(diff)
			}
			d = &fakeHandler{methods: []string{"w"}, keys: []string{"1"}}
			d.pump(t, iotest.DataErrReader(strings.NewReader(test.text)), mib)
			if diff := cmp.Diff(test.want, d.events); diff != "" {
				t.Errorf("with the end in the same read:\n%s", diff)
			}
		})
	}
}

func TestPumpReadError(t *testing.T) {
	broken := errors.New("broken")
	for name, text := range map[string]string{"between lines": "{}\n", "in a line": "{}\n{", "in a long line": strings.Repeat("x", 2*rpc.PumpBufferSize)} {
		d := &fakeHandler{}
		err := rpc.NewPump(rpc.NewLineSink(d), d, d, mib).Run(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%s: Run returned %v", name, err)
		}
		if got := strings.Join(d.joined(), ""); got != "> "+text {
			t.Errorf("%s: %d bytes passed, want %d", name, len(got)-2, len(text))
		}
	}
}

// Codex goes on when its client stops reading (measured). The Pump still handles the wanted
// lines and reads to the end.
func TestPumpWithClosedClient(t *testing.T) {
	var text strings.Builder
	for range 5000 {
		text.WriteString(`{"method":"m","params":{"text":"some text to fill the buffer"}}` + "\n" + `{"method":"w"}` + "\n")
	}
	text.WriteString(`{"method":"m","params":"` + strings.Repeat("x", mib) + "\"}\n" + `{"method":"w"}` + "\n")
	for failAt := 1; failAt < 4; failAt++ {
		d := &fakeHandler{methods: []string{"w"}}
		w := &recorder{failAt: failAt}
		sink := rpc.NewLineSink(w)
		in := strings.NewReader(text.String())
		if err := rpc.NewPump(sink, d, d, mib).Run(in); err != nil {
			t.Fatal(err)
		}
		if in.Len() > 0 || len(d.events) != 5001 || w.tried != failAt || !errors.Is(sink.Err(), errGone) {
			t.Errorf("write %d failed: %d bytes left, %d lines taken, %d writes tried, Err %v", failAt, in.Len(), len(d.events), w.tried, sink.Err())
		}
	}
}

// replyingHandler writes a message for each line that it handles.
type replyingHandler struct {
	*fakeHandler
	out rpc.Sink
}

func (r replyingHandler) Handle([]byte) { r.out.WriteMessage([]byte(`{"method":"instead"}`)) }

// The Handler may write to the client between two writes of the Pump. Its message takes the
// place of the handled line.
func TestPumpHandlerRepliesInPlace(t *testing.T) {
	var out bytes.Buffer
	r := replyingHandler{&fakeHandler{methods: []string{"w"}}, rpc.NewLineSink(&out)}
	text := "{\"method\":\"m\"}\n{\"method\":\"w\"}\n{\"method\":\"m\"}\n{\"method\":\"m\"}\n{\"method\":\"w\"}\n"
	if err := rpc.NewPump(r.out, r, r, mib).Run(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(text, `"w"`, `"instead"`); out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// With header framing each line becomes a message.
func TestPumpToHeaders(t *testing.T) {
	d := &fakeHandler{methods: []string{"w"}}
	text := "{\"method\":\"m\"}\n{\"method\":\"w\"}\n{}\n{\"method\":\"n\"}\n"
	if err := rpc.NewPump(rpc.NewHeaderSink(d), d, d, mib).Run(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	want := []string{"> " + framed(`{"jsonrpc":"2.0","method":"m"}`), `handle {"method":"w"}`,
		"> " + framed(`{"jsonrpc":"2.0"}`), "> " + framed(`{"jsonrpc":"2.0","method":"n"}`)}
	if diff := cmp.Diff(want, d.events); diff != "" {
		t.Error(diff)
	}
}
