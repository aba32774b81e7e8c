package rpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// Clients depend on these numbers.
func TestCodes(t *testing.T) {
	for got, want := range map[rpc.Code]int{
		rpc.CodeParse: -32700, rpc.CodeInvalidRequest: -32600, rpc.CodeUnknownMethod: -32601, rpc.CodeInvalidParams: -32602, rpc.CodeInternal: -32603,
		rpc.CodeOverloaded: -32001, rpc.CodeRefused: -32010, rpc.CodeUpstream: -32011, rpc.CodeDeadline: -32012,
		rpc.CodeNotVerified: -32013, rpc.CodeTooLarge: -32014, rpc.CodeBusy: -32015,
	} {
		if int(got) != want {
			t.Errorf("code %d, want %d", got, want)
		}
	}
}

// The data of an error is JSON in both directions.
func TestErrorIsJSON(t *testing.T) {
	for _, text := range []string{`{"code":-32010,"message":"a \"b\"","data":{"rule":"x","n":[1]}}`, `{"code":1,"message":""}`} {
		var e rpc.Error
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if out, err := json.Marshal(&e); err != nil || string(out) != text {
			t.Errorf("%s becomes %s: %v", text, out, err)
		}
	}
	busy := fmt.Errorf("now: %w", rpc.Errorf(rpc.CodeBusy, "one"))
	if !errors.Is(busy, rpc.Errorf(rpc.CodeBusy, "other")) || errors.Is(busy, rpc.Errorf(rpc.CodeDeadline, "one")) {
		t.Error("errors are not compared by their code")
	}
}

// The id is found before and after the fault.
func TestErrorCarriesTheID(t *testing.T) {
	tests := []struct{ name, broken, behind string }{
		// behind: the reply's id if the id comes after the fault.
		{"key twice", `"params":{"a":1,"a":2}`, `7`},
		{"key twice at the top", `"x":1,"x":2`, `7`},
		{"key twice among many", `"params":` + object(100, `"a":1`, `"a":2`), `7`},
		{"too many members", `"params":` + object(rpc.MaxMembers+1), `7`},
		{"private key", `"params":{"$serde_json::private::Number":"1"}`, `7`},
		{"private key, escaped", `"params":{"\u0024serde_json::private::Number":"1"}`, `7`},
		{"not UTF-8", "\"params\":{\"a\":\"\xff\"}", `7`},
		{"not UTF-8 in a key", "\"\xff\":1", `7`},
		{"control character", "\"params\":{\"a\":\"\x01\"}", `7`},
		{"lone surrogate", `"params":{"a":"\ud800"}`, `7`},
		{"lone surrogate in a key", `"\ud800":1`, `7`},
		{"unknown escape", `"params":{"a":"\x41"}`, `7`},
		{"unknown escape in a key", `"\x":1`, `7`},
		{"broken escape", `"params":{"a":"\u12"}`, `7`},
		{"broken escape in a key", `"\u12":1`, `7`},
		{"depth", `"params":` + strings.Repeat("[", 500) + strings.Repeat("]", 500), `7`},
		// The end of the value is unknown here.
		{"comma", `"params":{"a":1,}`, `null`},
		{"leading zero", `"params":{"a":01}`, `null`},
		{"bracket", `"params":{"a":[}`, `null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p rpc.Parser
			for want, line := range map[string]string{
				`"before"`:  `{"id":"before","method":"m",` + test.broken + `}`,
				test.behind: `{"method":"m",` + test.broken + `,"id":7}`,
			} {
				if got := string(parseError(t, &p, line, true).ID.Raw()); got != want {
					t.Errorf("the id in the reply to %.200q is %s, want %s", line, got, want)
				}
			}
			// The id of a response is never used.
			for _, line := range []string{
				`{"id":7,"result":{},` + test.broken + `}`,
				`{` + test.broken + `,"error":{},"id":7}`,
			} {
				if got := string(parseError(t, &p, line, true).ID.Raw()); got != "null" {
					t.Errorf("the reply to the broken answer %.200q has id %s", line, got)
				}
			}
		})
	}
}

// The id of a response that can't be read is known if it is clear.
func TestUnreadableResponseHasID(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":7,"error":null}`:                           "7",
		`{"error":{"code":1},"result":{},"id":"a\u0062"}`: `"a\u0062"`,
		`{"id":7}`:                                     "7",
		`{"id":7,"result":{"a":1,"a":2}}`:              "7",
		`{"result":{"a":1,"a":2},"id":7}`:              "7",
		`{"id":7,"id":7,"result":{}}`:                  "7",
		`{"id":7,"id":8,"result":{}}`:                  "null",
		`{"id":7,"result":{"a":`:                       "7",
		`{"id":7,"result":"a`:                          "7",
		`{"id":7,"result":{"a":"\ud800"}}`:             "7",
		`{"id":7,"params":{"a":`:                       "null", // the method of a request may follow
		`{"id":7,"params":{"a":1,"a":2},"method":"m"}`: "null",
		`{"id":7,"result":{},"method":"m"}`:            "null",
		`{"id":7.0,"result":{}}`:                       "null",
		`{"result":{"a":}},"id":7}`:                    "null",
		`[{"id":7,"result":{}}]`:                       "null",
		`{"id":"\ud800","result":{}}`:                  "null",
		`{"id":"\ud800","error":null}`:                 "null",
		`7`:                                            "null",
	} {
		var p rpc.Parser
		text := []byte(line)
		_, err := p.Message(text, true)
		clear(text) // the id must outlive the line
		var refused *rpc.MessageError
		if !errors.As(err, &refused) || string(refused.Answers.Raw()) != want {
			t.Errorf("%s: %+v", line, err)
		}
	}
	long := `{"id":7,"result":"` + strings.Repeat("x", 200) + `"}` + "\n"
	_, err := rpc.NewLineSource(strings.NewReader(long), 100).Next()
	var refused *rpc.MessageError
	if !errors.As(err, &refused) || string(refused.Answers.Raw()) != "7" {
		t.Errorf("a long line: %+v", err)
	}
}

// An error must stay valid when the memory of the line is reused.
func TestErrorOutlivesItsLine(t *testing.T) {
	for _, text := range []string{`{"id":"abc","method":"m",}`, `{"id":"abc","method":5}`} {
		line := []byte(text)
		_, err := new(rpc.Parser).Message(line, true)
		clear(line)
		var refused *rpc.MessageError
		if !errors.As(err, &refused) || string(refused.ID.Raw()) != `"abc"` {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An id is written back with its original bytes. They must be JSON on one line.
func TestErrorNeverRepeatsAnInvalidID(t *testing.T) {
	for _, id := range []string{"\"\xff\"", "\"a\nb\"", "\"\x00\"", `"\ud800"`, `"\x"`, `"\u12"`} {
		line := `{"id":` + id + `,"method":"m"}`
		var p rpc.Parser
		r := parseError(t, &p, line, true)
		if got := string(r.ID.Raw()); got != "null" {
			t.Errorf("the reply to %q has the id %q", line, got)
		}
		if reply := rpc.EncodeError(r.ID, r); !isStrict(reply) {
			t.Errorf("the reply to %q is %q", line, reply)
		}
	}
}

// The reply to every rejected line is strict JSON on one line.
func TestErrorRepliesAreStrict(t *testing.T) {
	for _, test := range refused {
		var p rpc.Parser
		r := parseError(t, &p, test.line, true)
		reply := rpc.EncodeError(r.ID, r)
		m, err := rpc.ParseMessage(reply)
		if test.id == "null" { // the Parser accepts no null id
			if !isStrict(reply) || strings.ContainsRune(string(reply), '\n') {
				t.Errorf("%s: the reply is %q", test.name, reply)
			}
			continue
		}
		if err != nil || m.Kind != rpc.ErrorResponse || string(m.ID.Raw()) != test.id {
			t.Errorf("%s: the reply %q is %v, %v", test.name, reply, m, err)
		}
		if len(reply) > 500 {
			t.Errorf("%s: the reply repeats too much: %d bytes", test.name, len(reply))
		}
	}
}
