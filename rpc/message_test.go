package rpc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

func TestMessage(t *testing.T) {
	type reading struct {
		Kind                  rpc.MessageKind
		ID, Key, Method       string
		Params, Result, Error string
	}
	tests := []struct {
		line string
		want reading
	}{
		{`{"id":1,"method":"m","params":{"a":1}}`, reading{Kind: rpc.Request, ID: `1`, Key: `1`, Method: "m", Params: `{"a":1}`}},
		{`{"id":"1","method":"m"}`, reading{Kind: rpc.Request, ID: `"1"`, Key: `"1`, Method: "m"}},
		{`{ "method" : "m" , "params" : { } }`, reading{Kind: rpc.Notification, ID: `null`, Method: "m", Params: `{ }`}},
		{`{"method":"","params":null}`, reading{Kind: rpc.Notification, ID: `null`, Params: `null`}},
		{`{"m\u0065thod":"\u0074hread\/start","\u0069d":7,"p\u0061rams":{"id":8}}`, reading{Kind: rpc.Request, ID: `7`, Key: `7`, Method: "thread/start", Params: `{"id":8}`}},
		{`{"id":2,"result":{"method":"x"}}`, reading{Kind: rpc.Response, ID: `2`, Key: `2`, Result: `{"method":"x"}`}},
		{`{"id":2,"result":null,"params":[]}`, reading{Kind: rpc.Response, ID: `2`, Key: `2`, Params: `[]`, Result: `null`}},
		{`{"error":{"code":1},"id":"a"}`, reading{Kind: rpc.ErrorResponse, ID: `"a"`, Key: `"a`, Error: `{"code":1}`}},
		{`{"id":2,"method":"a","METHOD":"b","Id":3}`, reading{Kind: rpc.Request, ID: `2`, Key: `2`, Method: "a"}},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			m, err := rpc.ParseMessage([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			got := reading{m.Kind, string(m.ID.Raw()), m.ID.Key(), m.Method,
				string(m.Params.Raw()), string(m.Result.Raw()), string(m.Error.Raw())}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Without deep, only the members of the envelope are kept.
func TestShallowMessage(t *testing.T) {
	var p rpc.Parser
	m, err := p.Message([]byte(`{"id":1,"method":"m","params":{"a":{"b":1}},"trace":[1,2]}`), false)
	if err != nil {
		t.Fatal(err)
	}
	if m.Params.Kind() != rpc.Object || m.Params.Len() != 0 || m.Params.Get("a").Exists() {
		t.Errorf("params is %v with %d members", m.Params.Kind(), m.Params.Len())
	}
	if got := string(m.Root().Get("trace").Raw()); got != `[1,2]` {
		t.Errorf("trace is %s", got)
	}
}

// Names are interned across messages. One name must never become another, even if the
// client sends thousands of them.
func TestMethodNames(t *testing.T) {
	var p rpc.Parser
	line := []byte(`{"method":"0000"}`)
	for i := range 3000 {
		copy(line[11:], []byte{byte('0' + i/1000), byte('0' + i/100%10), byte('0' + i/10%10), byte('0' + i%10)})
		m, err := p.Message(line, false)
		if err != nil {
			t.Fatal(err)
		}
		if want := string(line[11:15]); m.Method != want {
			t.Fatalf("method %q, want %q", m.Method, want)
		}
	}
	if n := rpc.MethodNames(&p); n > 1025 {
		t.Errorf("%d names are kept", n)
	}
}

func TestKindNames(t *testing.T) {
	for kind, want := range []string{"nothing", "request", "notification", "response", "failure"} {
		if got := rpc.MessageKind(kind).String(); got != want {
			t.Errorf("MessageKind %d is %q, want %q", kind, got, want)
		}
	}
	for kind, want := range []string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"} {
		if got := rpc.Kind(kind).String(); got != want {
			t.Errorf("Kind %d is %q, want %q", kind, got, want)
		}
	}
}

func TestParseEnvelope(t *testing.T) {
	tests := []struct{ line, key, method string }{
		{`{"id":1,"result":{}}`, `1`, ""},
		{`{"error":{"code":-1,"message":"no"},"id":"a\u0062"}`, `"ab`, ""},
		{`{"id":0,"method":"item/tool/call","params":{}}`, `0`, "item/tool/call"},
		{`{"params":{"method":"n"},"method":"m"}`, ``, "m"},
		{`{"method":"a\/b"}`, ``, "a/b"},
		{`{"method":1,"id":null}`, ``, ""},
		{`[]`, ``, ""},
		// Deeper than Codex accepts from a client, but Codex may send it.
		{`{"id":3,"result":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, `3`, ""},
	}
	for _, test := range tests {
		e, err := rpc.ParseEnvelope([]byte(test.line))
		if err != nil {
			t.Errorf("Open(%.100s): %v", test.line, err)
			continue
		}
		if e.ID.Key() != test.key || e.Method != test.method {
			t.Errorf("Open(%.100s): id %q, method %q; want %q, %q", test.line, e.ID.Key(), e.Method, test.key, test.method)
		}
	}
	for _, line := range []string{``, `{`, `{"id":1}x`, `{"id":1,"id":2}`} {
		if _, err := rpc.ParseEnvelope([]byte(line)); err == nil {
			t.Errorf("ParseEnvelope(%q) returns no error", line)
		}
	}
}

// A clone must not change with the line.
func TestClone(t *testing.T) {
	line := []byte(`{"id":"abc","method":"m","params":{"a":"value"}}`)
	e, err := rpc.ParseEnvelope(line)
	if err != nil {
		t.Fatal(err)
	}
	c := e.Clone()
	clear(line)
	if got, _ := c.Root().Get("params").Get("a").Text(); got != "value" {
		t.Errorf("the clone's text is %q", got)
	}
	if string(c.ID.Raw()) != `"abc"` || c.ID.Key() != `"abc` || c.Method != "m" {
		t.Errorf("the clone is id %s, method %q", c.ID.Raw(), c.Method)
	}

	line = []byte(`{"id":123,"method":"m"}`)
	m, err := rpc.ParseMessage(line)
	if err != nil {
		t.Fatal(err)
	}
	id := m.ID.Clone()
	clear(line)
	if string(id.Raw()) != `123` {
		t.Errorf("the clone of the id is %q", id.Raw())
	}
}

func TestParsePrefix(t *testing.T) {
	tests := []struct{ start, id, method string }{
		{`{"method":"item/completed","params":{"te`, `null`, "item/completed"},
		{`{"id":5,"method":"item/tool/call","par`, `5`, "item/tool/call"},
		{`{"method":"item/tool/call","id":0,"params":{"a`, `0`, "item/tool/call"},
		{`{"id":5,"result":{"a":"b`, `5`, ""},
		{`{"id":"a\u0062","result":{"a":"b`, `"a\u0062"`, ""},
		{`{"id":5,"error":{"a":"b`, `5`, ""},
		{`{"id":5.5,"result":{}`, `null`, ""},
		{`{"id":--5,"result":{}`, `null`, ""},
		{`{"id":"\ud800","result":{}`, `null`, ""},
		{`{"error":{"code":1,"message":"long`, `null`, ""},
		{`{"id":12`, `null`, ""},
		{`{"id":-90,"result":{"a":"b`, `-90`, ""},
		{`{"method":"m","id":907,"params":{"a`, `907`, "m"},
		{`{"id":`, `null`, ""},
		{`{"id":,"result":{}`, `null`, ""},
		{`{"method":"m","id":`, `null`, "m"},
		{`{"meth`, `null`, ""},
		{`{"new":{"id":6},"id":5,"result":{"a":"b`, `5`, ""},
		{`{"new":[{"id":6`, `null`, ""},
		{`{"method":"m","params":{"id":6,"x":"y`, `null`, "m"},
		{`{"params":{"id":6,"method":"y","a":[1,2`, `null`, ""},
		{``, `null`, ""},
	}
	for _, test := range tests {
		id, method := rpc.ParsePrefix([]byte(test.start))
		if string(id.Raw()) != test.id || method != test.method {
			t.Errorf("Start(%s) = %s, %q; want %s, %q", test.start, id.Raw(), method, test.id, test.method)
		}
	}
}

func TestEncode(t *testing.T) {
	m, err := rpc.ParseMessage([]byte(`{"id":"\u0061","method":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, got, want string }{
		{"result", string(rpc.EncodeResult(m.ID, []byte(`{"a":1}`))), `{"id":"\u0061","result":{"a":1}}`},
		{"result to nobody", string(rpc.EncodeResult(rpc.ID{}, []byte(`1`))), `{"id":null,"result":1}`},
		{"error", string(rpc.EncodeError(m.ID, rpc.Errorf(rpc.CodeRefused, "no %q\n", "x"))),
			`{"error":{"code":-32010,"message":"no \"x\"\n"},"id":"\u0061"}`},
		{"error with data", string(rpc.EncodeError(m.ID, rpc.WithData(rpc.Errorf(rpc.CodeBusy, "busy"), map[string]int{"a": 1}))),
			`{"error":{"code":-32015,"message":"busy","data":{"a":1}},"id":"\u0061"}`},
		{"wrapped error", string(rpc.EncodeError(rpc.ID{}, &rpc.MessageError{Err: rpc.Errorf(rpc.CodeParse, "p")})),
			`{"error":{"code":-32700,"message":"p"},"id":null}`},
		{"any error", string(rpc.EncodeError(rpc.NewStringID("x"), errors.New("disk full"))),
			`{"error":{"code":-32603,"message":"disk full"},"id":"x"}`},
		// One byte of invalid UTF-8 would end Codex, and a client's parser too.
		{"error not in UTF-8", string(rpc.EncodeError(rpc.ID{}, errors.New("a\xffb"))),
			`{"error":{"code":-32603,"message":"a\ufffdb"},"id":null}`},
		{"call", string(rpc.EncodeRequest(rpc.NewStringID("x"), "m", []byte(`{}`))), `{"id":"x","method":"m","params":{}}`},
		{"notification", string(rpc.EncodeRequest(rpc.ID{}, "a\"b", nil)), `{"method":"a\"b"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.got != test.want {
				t.Errorf("%s\nwant %s", test.got, test.want)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	key := func(id string) string {
		m, err := rpc.ParseMessage([]byte(`{"id":` + id + `,"method":"m"}`))
		if err != nil {
			t.Fatal(err)
		}
		if string(m.ID.Raw()) != id {
			t.Errorf("id %s has become %s", id, m.ID.Raw())
		}
		return m.ID.Key()
	}
	// The client's spelling, and the one in the response of Codex 0.169.0 (measured).
	pairs := []struct{ asked, answered string }{
		{`1`, `1`},
		{`-0`, `0`},
		{`-9223372036854775808`, `-9223372036854775808`},
		{`"1"`, `"1"`},
		{`""`, `""`},
		{`"a\u0041\ud83d\ude00\/\u001f\n\u2028"`, `"aA😀/\u001f\n` + "\u2028" + `"`},
		{`"<&>` + "\x7f" + `"`, `"<&>` + "\x7f" + `"`},
		{`"\"\\"`, `"\"\\"`},
	}
	seen := map[string]string{}
	for _, p := range pairs {
		k := key(p.asked)
		if got := string(rpc.ResponseKey([]byte(p.answered))); got != k {
			t.Errorf("the key of %s is %q, that of its answer %q", p.asked, k, got)
		}
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have the same key", other, p.asked)
		}
		seen[k] = p.asked
	}
	own := rpc.NewStringID("own <\"\n>")
	if m, err := rpc.ParseMessage(rpc.EncodeResult(own, []byte("1"))); err != nil || m.ID.Key() != own.Key() {
		t.Errorf("the key of our own id is %q; its answer is %v, %v", own.Key(), m, err)
	}
	none := rpc.ID{}
	if none.IsValid() || none.Key() != "" || string(none.Raw()) != "null" || none.Clone().IsValid() {
		t.Errorf("the zero ID: %v, %q, %s", none.IsValid(), none.Key(), none.Raw())
	}
}

func TestWithDataThatCannotBeEncoded(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	rpc.WithData(rpc.Errorf(rpc.CodeInternal, "x"), func() {})
}
