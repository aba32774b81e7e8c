package rpc_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

// framed returns a message in the base protocol of LSP.
func framed(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func TestHeaderFraming(t *testing.T) {
	const max = 300
	tests := []struct {
		name, text string
		want       []string
	}{
		{"messages", framed(`{"a":1}`) + framed(`{"b":2}`), []string{"{\"a\":1}\n", "{\"b\":2}\n"}},
		{"lower case", "content-length: 2\r\n\r\n{}", []string{"{}\n"}},
		{"upper case", "CONTENT-LENGTH: 2\r\n\r\n{}", []string{"{}\n"}},
		{"no blank", "Content-Length:2\r\n\r\n{}", []string{"{}\n"}},
		{"many blanks", "Content-Length: \t 2 \r\n\r\n{}", []string{"{}\n"}},
		{"leading zero", "Content-Length: 002\r\n\r\n{}", []string{"{}\n"}},
		{"only line feeds", "Content-Length: 2\n\n{}", []string{"{}\n"}},
		{"content type behind", "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}", []string{"{}\n"}},
		{"content type in front", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", []string{"{}\n"}},
		{"unknown field", framed(`{}`) + "X-Trace: a:b\r\nContent-Length: 2\r\nEmpty:\r\n\r\n[]", []string{"{}\n", "[]\n"}},
		{"multi-byte text", framed(`{"a":"é漢😀"}`) + framed(`{}`), []string{"{\"a\":\"é漢😀\"}\n", "{}\n"}},
		{"body of several lines", framed("{\n  \"a\": [\n1,\r\n2]\n}\n") + framed("{}"), []string{"{   \"a\": [ 1,\r 2] } \n", "{}\n"}},

		{"jsonrpc first", framed(`{"jsonrpc":"2.0","id":1,"method":"m"}`), []string{"{\"id\":1,\"method\":\"m\"}\n"}},
		{"jsonrpc in the middle", framed(`{"id":1,"jsonrpc":"2.0","method":"m"}`), []string{"{\"id\":1,\"method\":\"m\"}\n"}},
		{"jsonrpc last", framed(`{"id":1,"method":"m","jsonrpc":"2.0"}`), []string{"{\"id\":1,\"method\":\"m\"}\n"}},
		{"jsonrpc alone", framed(`{"jsonrpc":"2.0"}`), []string{"{}\n"}},
		{"jsonrpc of another value", framed(`{"jsonrpc":{"a":[1]},"id":1}`), []string{"{\"id\":1}\n"}},
		{"jsonrpc escaped", framed(`{"json\u0072pc":"2.0","id":1}`), []string{"{\"id\":1}\n"}},
		{"jsonrpc in lines", framed("{\n\t\"jsonrpc\": \"2.0\",\n\t\"id\": 1,\n\t\"params\": {\n\t\t\"a\": 1\n\t}\n}"), []string{"{\"id\":1,\"params\":{ \t\t\"a\": 1 \t}}\n"}},
		{"jsonrpc inside params", framed(`{"id":1,"params":{"jsonrpc":"2.0"}}`), []string{"{\"id\":1,\"params\":{\"jsonrpc\":\"2.0\"}}\n"}},
		{"JSONRPC", framed(`{"JSONRPC":"2.0","id":1}`), []string{"{\"JSONRPC\":\"2.0\",\"id\":1}\n"}},
		{"jsonrpc as a value", framed(`["jsonrpc"]`), []string{"[\"jsonrpc\"]\n"}},

		// Text that is not strict JSON is returned unchanged; the Parser rejects it.
		{"not JSON", framed("hello") + framed("{}"), []string{"hello", "{}\n"}},
		{"no body", framed("") + framed("{}"), []string{"", "{}\n"}},
		{"a blank body", framed("\r\n") + framed("{}"), []string{"\r\n", "{}\n"}},
		{"line end in a string", framed("{\"a\":\"b\nc\"}") + framed("{}"), []string{"{\"a\":\"b\nc\"}", "{}\n"}},
		{"two objects", framed("{}\n{}") + framed("{}"), []string{"{}\n{}", "{}\n"}},

		{"as long as may be", framed(`{"a":"`+strings.Repeat("x", max-8)+`"}`) + framed("{}"), []string{`{"a":"` + strings.Repeat("x", max-8) + "\"}\n", "{}\n"}},
		{"too long", framed(`{"id":7,"method":"m","a":"`+strings.Repeat("x", max)+`"}`) + framed("{}"), []string{"-32014 7", "{}\n"}},
		{"too long answer", framed(`{"id":7,"result":"`+strings.Repeat("x", max)+`"}`) + framed("{}"), []string{"-32014 null", "{}\n"}},
		{"too long, with line ends", framed("{\"id\":7,\n\"method\":\"m\",\n\"a\":\""+strings.Repeat("\n", 100000)+`"}`) + framed("{}"), []string{"-32014 7", "{}\n"}},
		// The end of the input within a message is the end of the client.
		{"too long and cut off", "Content-Length: 1000\r\n\r\n" + `{"id":7,"method":"m","a":"`, nil},
		{"huge and cut off", "Content-Length: 2147483647\r\n\r\n" + `{"id":7,"method":"m","a":"` + strings.Repeat("x", 100000), nil},

		{"negative", "Content-Length: -2\r\n\r\n{}", []string{`error: the header line "Content-Length: -2" is not one length in bytes`}},
		{"plus", "Content-Length: +2\r\n\r\n{}", []string{`error: the header line "Content-Length: +2" is not one length in bytes`}},
		{"hexadecimal", "Content-Length: 0x2\r\n\r\n{}", []string{`error: the header line "Content-Length: 0x2" is not one length in bytes`}},
		{"no number", "Content-Length: two\r\n\r\n{}", []string{`error: the header line "Content-Length: two" is not one length in bytes`}},
		{"empty number", "Content-Length:\r\n\r\n{}", []string{`error: the header line "Content-Length:" is not one length in bytes`}},
		{"over 31 bits", "Content-Length: 2147483648\r\n\r\n{}", []string{`error: the header line "Content-Length: 2147483648" is not one length in bytes`}},
		{"over 64 bits", "Content-Length: 18446744073709551618\r\n\r\n{}", []string{`error: the header line "Content-Length: 18446744073709551618" is not one length in bytes`}},
		{"missing", "Content-Type: text/plain\r\n\r\n{}", []string{`error: a header without Content-Length; send "Content-Length: N", a blank line and N bytes`}},
		{"twice", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", []string{`error: the header line "Content-Length: 2" is not one length in bytes`}},
		{"twice, of no bytes first", "Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}", []string{`error: the header line "Content-Length: 2" is not one length in bytes`}},
		{"twice in another case", "Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}", []string{`error: the header line "content-length: 3" is not one length in bytes`}},
		{"no colon", framed("{}") + "Content-Length 2\r\n\r\n{}", []string{"{}\n", `error: the header line "Content-Length 2" has no colon`}},
		{"a body longer than its header says", framed("{}") + `{"id":1}` + "\r\n\r\n", []string{"{}\n", `error: a header without Content-Length; send "Content-Length: N", a blank line and N bytes`}},
		{"line as long as may be", "Content-Type: " + strings.Repeat("x", rpc.MaxHeaderLine-len("Content-Type: \r")) + "\r\nContent-Length: 2\r\n\r\n{}", []string{"{}\n"}},
		{"line too long", "Content-Type: " + strings.Repeat("x", rpc.MaxHeaderLine) + "\r\nContent-Length: 2\r\n\r\n{}", []string{"error: a header line of more than 1024 bytes"}},
		{"line without end", "Content-Type: " + strings.Repeat("x", 1<<20), []string{"error: a header line of more than 1024 bytes"}},
		{"as many lines as may be", "Content-Length: 2\r\n" + strings.Repeat("X: y\r\n", rpc.MaxHeaderLines-2) + "\r\n{}", []string{"{}\n"}},
		{"too many lines", "Content-Length: 2\r\n" + strings.Repeat("X: y\r\n", rpc.MaxHeaderLines-1) + "\r\n{}", []string{"error: a header of more than 16 lines"}},

		{"end in a name", framed("{}") + "Content-Le", []string{"{}\n"}},
		{"end in a header", framed("{}") + "Content-Length: 2\r\n", []string{"{}\n"}},
		{"end before a body", framed("{}") + "Content-Length: 2\r\n\r\n", []string{"{}\n"}},
		{"end in a body", framed("{}") + "Content-Length: 20\r\n\r\n{}", []string{"{}\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, sources(t, test.text, max)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDetectFraming(t *testing.T) {
	tests := []struct {
		name, text string
		header     bool
		want       []string
	}{
		{"nothing", "", false, nil},
		{"JSON", "{}\n", false, []string{"{}\n"}},
		{"header", framed("{}"), true, []string{"{}\n"}},
		{"header in lower case", "content-length: 2\r\n\r\n{}", true, []string{"{}\n"}},
		{"content type", "Content-Type: x\r\nContent-Length: 2\r\n\r\n{}", true, []string{"{}\n"}},
		{"content type in lower case", "content-type: x\r\ncontent-length: 2\r\n\r\n{}", true, []string{"{}\n"}},
		{"blank lines, JSON", "\n\r\n \t\n{}\n", false, []string{"{}\n"}},
		{"blank lines, header", "\n\r\n\r\n" + framed("{}"), true, []string{"{}\n"}},
		{"more blank lines than are buffered", strings.Repeat("\n", 100000) + framed("{}"), true, []string{"{}\n"}},
		{"only blank lines", "\n\r\n \t\n", false, nil},
		{"blanks, JSON", "\n  {}\n", false, []string{"  {}\n"}}, // forwarded as it came
		{"hello", "hello\n", false, []string{"hello\n"}},
		{"C", "C", false, []string{"C"}},
		{"C and a line end", "C\n{}\n", false, []string{"C\n", "{}\n"}},
		{"half a name", "Content-L", false, []string{"Content-L"}},
		{"half a name and a line end", "Content-\n{}\n", false, []string{"Content-\n", "{}\n"}},
		{"another field", "Content-Encoding: x\r\n{}\n", false, []string{"Content-Encoding: x\r\n", "{}\n"}},
		{"blank before the colon", "Content-Length : 2\r\n{}\n", false, []string{"Content-Length : 2\r\n", "{}\n"}},
		{"HTTP", "GET / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}\n", false, []string{"GET / HTTP/1.1\r\n", "Content-Length: 2\r\n", "{}\n"}},
		{"array", "[]\n", false, []string{"[]\n"}},
		{"BOM", "\ufeff{}\n", false, []string{"\ufeff{}\n"}},
		{"NUL", "\x00\n", false, []string{"\x00\n"}},
		{"not UTF-8", "\xff\n", false, []string{"\xff\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, sources(t, test.text, 1000)); diff != "" {
				t.Error(diff)
			}
			// Source and Sink must have the same framing.
			var out strings.Builder
			_, sink := rpc.DetectFraming(strings.NewReader(test.text), &out, 1000)
			sink.WriteMessage([]byte(`{"a":1}`))
			want := "{\"a\":1}\n"
			if test.header {
				want = framed(`{"jsonrpc":"2.0","a":1}`)
			}
			if _, header := sink.(*rpc.HeaderSink); out.String() != want || header != test.header {
				t.Errorf("the sink writes %q", out.String())
			}
		})
	}
}

// DetectFraming must not wait for more bytes than it needs: a client sends nothing more
// until it has a response.
func TestDetectFramingDoesNotWait(t *testing.T) {
	for _, first := range []string{"{", "\n{", "h", "Content-Length:", "content-type:", "[", "Content-X"} {
		r, w := io.Pipe()
		done := make(chan struct{})
		go func() {
			rpc.DetectFraming(r, io.Discard, 100)
			close(done)
		}()
		if _, err := io.WriteString(w, first); err != nil {
			t.Fatal(err)
		}
		<-done // hangs if DetectFraming waits
		w.Close()
	}
}
