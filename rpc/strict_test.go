package rpc_test

import (
	"errors"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

func TestStrictParserAccepts(t *testing.T) {
	for _, test := range accepted {
		t.Run(test.name, func(t *testing.T) {
			var p rpc.Parser
			for _, deep := range []bool{true, false} {
				m, err := p.Message([]byte(test.line), deep)
				if err != nil {
					t.Fatalf("deep %v: %v", deep, err)
				}
				if got := string(m.Bytes()); got != test.line {
					t.Errorf("deep %v: Bytes are %q", deep, got)
				}
			}
		})
	}
}

// Codex takes an array for an object, by the order of the fields.
func TestCheckParams(t *testing.T) {
	for params, want := range map[string]string{
		`{}`: "", `null`: "", `{"a":[]}`: "",
		`[]`: "params is an array", `["a"]`: "params is an array", `"x"`: "params is a string", `0`: "params is a number", `false`: "params is a boolean",
	} {
		for _, start := range []string{`{"id":1,"method":"m","params":`, `{"method":"m","params":`} {
			m, err := rpc.ParseMessage([]byte(start + params + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.CheckParams(); (err != nil) != (want != "") || err != nil && (err.Code != rpc.CodeInvalidParams || !strings.Contains(err.Message, want)) {
				t.Errorf("%s%s}: %v, want %q", start, params, err, want)
			}
		}
	}
	if m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"m"}`)); err != nil || m.CheckParams() != nil {
		t.Errorf("without params: %v", err)
	}
}

func TestStrictParserRefuses(t *testing.T) {
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			var p rpc.Parser
			for _, deep := range []bool{true, false} {
				got := parseError(t, &p, test.line, deep)
				if got.Err.Code != test.code || string(got.ID.Raw()) != test.id {
					t.Errorf("deep %v: code %d, id %s; want %d, %s (%s)", deep, got.Err.Code, got.ID.Raw(), test.code, test.id, got)
				}
				if !strings.Contains(got.Error(), test.says) {
					t.Errorf("deep %v: the message %q does not say %q", deep, got, test.says)
				}
			}
		})
	}
}

// parseError returns the error for a line that must be rejected.
func parseError(t *testing.T, p *rpc.Parser, line string, deep bool) *rpc.MessageError {
	t.Helper()
	m, err := p.Message([]byte(line), deep)
	var refused *rpc.MessageError
	if m != nil || !errors.As(err, &refused) {
		t.Fatalf("deep %v: Message = %v, %v; want a *RefusedLine", deep, m, err)
	}
	return refused
}

// A Parser must not depend on its earlier lines.
func TestStrictParserIsReusable(t *testing.T) {
	var used rpc.Parser
	for _, test := range refused {
		parseError(t, &used, test.line, true)
		for _, ok := range accepted[:4] {
			m, err := used.Message([]byte(ok.line), true)
			if err != nil {
				t.Fatalf("%s after %s: %v", ok.name, test.name, err)
			}
			if m.Kind != rpc.Request || m.Method != "m" || string(m.ID.Raw()) != "1" || m.Params.Len() != 0 {
				t.Fatalf("%s after %s: %+v", ok.name, test.name, m)
			}
		}
	}
}
