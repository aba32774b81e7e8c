package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	return "{" + strings.TrimSuffix(b.String(), ",") + "}"
}

func elements(n int) string { return "[" + strings.Repeat("0,", n-1) + "0]" }

// digits is a number that is too large for any numeric type.
var digits = strings.Repeat("1234567890", 40)

// extremes are values at and beyond the limits for a client. code is that of the error; 0 means
// that the value is forwarded. Codex may send all of them.
var extremes = []struct {
	name, value string
	code        rpc.Code
}{
	{"maximum depth", nested(125), 0}, // with the message and its params 127
	{"depth, one more", nested(126), rpc.CodeParse},
	{"depth, 100,000", nested(100_000), rpc.CodeParse},
	{"maximum number of members", members(1<<16 - 4), 0}, // with id, method, params and x
	{"members, one more", members(1<<16 - 3), rpc.CodeParse},
	{"elements, 300,000", elements(300_000), 0},
	{"1e400", "1e400", 0},
	{"-1e-400", "-1e-400", 0},
	{"400 digits", digits, 0},
	{"a fraction of 400 digits", "0." + digits, 0},
	{"-0", "-0", 0},
	{"2^53 + 1", "9007199254740993", 0},
	{"2^64", "18446744073709551616", 0},
	{"1E+2", "1E+2", 0},
	{"01", "01", rpc.CodeParse},
	{"NaN", "NaN", rpc.CodeParse},
	{"an empty key", `{"":""}`, 0},
	{"half a megabyte of escapes", `"` + strings.Repeat(`\u0000`, 80_000) + `"`, 0},
}

// ids of a client's requests; code as in extremes. passes is the result for an id if the bridge
// does not keep requests.
var ids = []struct {
	name, id string
	code     rpc.Code
	passes   bool
}{
	{"the smallest", "-9223372036854775808", 0, true},
	{"the largest", "9223372036854775807", 0, true},
	{"one more", "9223372036854775808", rpc.CodeInvalidRequest, false},
	{"400 digits", digits, rpc.CodeInvalidRequest, false},
	{"1e400", "1e400", rpc.CodeInvalidRequest, false},
	{"1.0", "1.0", rpc.CodeInvalidRequest, false},
	{"-0", "-0", 0, true},
	{"null", "null", rpc.CodeInvalidRequest, false},
	{"an object", `{"id":1}`, rpc.CodeInvalidRequest, false},
	{"an array", `[1]`, rpc.CodeInvalidRequest, false},
	{"true", "true", rpc.CodeInvalidRequest, false},
	{"empty", `""`, 0, true},
	{"NUL", `"\u0000"`, 0, true},
	{"half a megabyte", `"` + strings.Repeat("x", 1<<19) + `"`, rpc.CodeInvalidRequest, true},
}

// Values and ids at and beyond the limits, in both directions, with and without kept requests:
// they are forwarded byte for byte, or rejected with an error.
func TestExtremes(t *testing.T) {
	for name, o := range map[string]bridge.Options{"kept": {AnswerAll: always}, "not kept": {}} {
		t.Run(name, func(t *testing.T) {
			c := bridgetest.StartAs(t, o)
			n := 0
			fromClient := func(name, id, params string, code rpc.Code) {
				line := fmt.Sprintf(`{"id":%s,"method":"m","params":%s}`, id, params)
				if code == 0 {
					c.Play(name, "editor> "+line+"\ncodex<= "+line)
					return
				}
				if code == rpc.CodeInvalidRequest && id[0] != '"' {
					id = "null" // the id can't be used in a reply
				}
				c.Play(name, fmt.Sprintf("editor> %s\neditor< {\"id\":%s,\"error\":{\"code\":%d,\"message\":\"<text>\"}}", line, id, code))
			}
			for _, e := range extremes {
				n++
				fromClient(e.name, fmt.Sprint(n), `{"x":`+e.value+`}`, e.code)
				for _, line := range []string{
					fmt.Sprintf(`{"id":%d,"result":{"x":%s}}`, n, e.value),
					fmt.Sprintf(`{"method":"m","params":{"x":%s}}`, e.value),
					fmt.Sprintf(`{"method":"m","id":%d,"params":{"x":%s}}`, n, e.value),
				} {
					c.Play("codex: "+e.name, "codex> "+line+"\neditor<= "+line)
				}
			}
			for _, id := range ids {
				code := id.code
				if id.passes && o.AnswerAll == nil {
					code = 0
				}
				fromClient("id: "+id.name, id.id, `{}`, code)
				for _, line := range []string{
					fmt.Sprintf(`{"id":%s,"result":{}}`, id.id),
					fmt.Sprintf(`{"error":{"code":1,"message":"no"},"id":%s}`, id.id),
					fmt.Sprintf(`{"method":"m","id":%s,"params":{}}`, id.id),
				} {
					c.Play("codex: id: "+id.name, "codex> "+line+"\neditor<= "+line)
				}
			}
		})
	}
}
