package rpc_test

import (
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// accepted are valid lines of a client. Codex 0.169.0 takes all of them (measured). The name
// states the special property.
var accepted = []struct{ name, line string }{
	{"request", `{"id":1,"method":"m","params":{}}`},
	{"any order", `{"params":{},"method":"m","id":1}`},
	{"jsonrpc member", `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`},
	{"unknown member", `{"id":1,"method":"m","params":{},"trace":{"a":[1]}}`},
	{"notification", `{"method":"m"}`},
	{"notification with params", `{"method":"m","params":{}}`},
	{"white space", " \t{ \"id\" :\t1 , \"method\" : \"m\" ,\r\"params\" : { \"a\" : [ 1 , 2 ] } } "},
	{"line end", "{\"id\":1,\"method\":\"m\"}\n"},
	{"line end of Windows", "{\"id\":1,\"method\":\"m\"}\r\n"},
	{"params null", `{"id":1,"method":"m","params":null}`},
	{"params absent", `{"id":1,"method":"m"}`},
	{"escaped key", `{"id":1,"m\u0065thod":"m"}`},
	{"escaped method", `{"id":1,"method":"\u006d"}`},
	{"answer", `{"id":1,"result":{}}`},
	{"answer null", `{"id":1,"result":null}`},
	{"answer to a string", `{"id":"a","result":0}`},
	{"failure", `{"id":1,"error":{"code":-32601,"message":"no"}}`},
	{"failure, id last", `{"error":{"code":1,"message":"no"},"id":1}`},
	{"result and error deep down", `{"id":1,"method":"m","params":{"result":1,"error":1,"id":[]}}`},

	{"id 0", `{"id":0,"method":"m"}`},
	{"id -0", `{"id":-0,"method":"m"}`}, // measured: Codex replies with id 0
	{"id -1", `{"id":-1,"method":"m"}`},
	{"largest id", `{"id":9223372036854775807,"method":"m"}`},
	{"smallest id", `{"id":-9223372036854775808,"method":"m"}`},
	{"empty id", `{"id":"","method":"m"}`},
	{"id with escapes", `{"id":"\u0061\n\ud83d\ude00","method":"m"}`},

	{"UTF-8", `{"method":"m","params":{"t":"é漢😀"}}`},
	{"DEL", "{\"method\":\"m\",\"params\":{\"t\":\"\x7f\"}}"},
	{"U+2028", "{\"method\":\"m\",\"params\":{\"t\":\"\u2028\u2029\"}}"},
	{"BOM inside a string", "{\"method\":\"m\",\"params\":{\"t\":\"\ufeff\"}}"},
	{"replacement character", "{\"method\":\"m\",\"params\":{\"t\":\"\ufffd\"}}"}, // Go's decoder returns it for invalid bytes, too
	{"noncharacter", "{\"method\":\"m\",\"params\":{\"t\":\"\uffff\U0010ffff\"}}"},
	{"all escapes", `{"method":"m","params":{"t":"\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDe00"}}`},
	{"escaped control character in a key", `{"method":"m","params":{"\u0000":1}}`},
	{"empty key", `{"method":"m","params":{"":1}}`},

	{"numbers", `{"method":"m","params":{"n":[0,-0,1,-1,0.5,-0.5,1e1,1E1,1e+1,1e-1,0e0,0.0e-0,10,1.25E+2]}}`},
	{"huge number", `{"method":"m","params":{"n":[1e400,-1e400,1e-400,123456789012345678901234567890]}}`},
	{"literals", `{"method":"m","params":{"n":[true,false,null]}}`},
	{"empty ones", `{"method":"m","params":{"a":{},"b":[],"c":"","d":[[],{},""]}}`},
	{"one key in several objects", `{"method":"m","params":{"a":{"a":1},"b":{"a":2},"c":[{"a":3},{"a":4}]}}`},
	{"keys in another case", `{"method":"m","Method":"n","METHOD":"o","params":{"a":1,"A":2}}`},
	{"private name as a value", `{"method":"m","params":{"t":"$serde_json::private::RawValue"}}`},
	{"nearly a private name", `{"method":"m","params":{"$serde_json::privat::RawValue":1,"$serde_json::private:":1,"x$serde_json::private::Number":1,"$":1}}`},
	{"deepest", nested(126)},
	{"deepest objects", nestedObjects(126)},
	{"as many members as are compared one by one", `{"method":"m","params":` + object(rpc.MaxCompared) + `}`},
	{"one member more", `{"method":"m","params":` + object(rpc.MaxCompared+1) + `}`},
	{"many members", `{"method":"m","params":` + object(5000) + `}`},
	{"most members", `{"method":"m","params":` + object(rpc.MaxMembers-2) + `}`}, // and the two around them
	{"many objects with many members", `{"method":"m","params":{"a":[` + strings.Repeat(object(30000)+",", 4) + `0]}}`},
}

const (
	notJSON = rpc.CodeParse
	invalid = rpc.CodeInvalidRequest
	params  = rpc.CodeInvalidParams
)

// refused are lines that never reach Codex, with the code and id of the error reply. Codex
// drops most of them without a reply; comments state other behaviour (measured on 0.169.0).
var refused = []struct {
	name string
	line string
	code rpc.Code
	id   string
	says string // part of the message, if it matters
}{
	// Not JSON.
	{"nothing", ``, notJSON, `null`, "ends"},
	{"garbage", `hello`, notJSON, `null`, "unexpected 'h'; expected a value"},
	{"end in an object", `{"id":1,"method":"m"`, notJSON, `1`, "ends"},
	{"end in a string", `{"id":1,"method":"m","params":{"a":"b`, notJSON, `1`, "ends inside a string"},
	{"end in an escape", `{"id":1,"method":"m","params":{"a":"b\`, notJSON, `1`, "ends inside a string"},
	{"end behind a key", `{"id":1,"method":"m","params"`, notJSON, `1`, "colon"},
	{"end behind a colon", `{"id":1,"method":"m","params":`, notJSON, `1`, "value"},
	{"end behind a comma", `{"id":1,"method":"m",`, notJSON, `1`, "key"},
	{"end in an id", `{"method":"m","id":12`, notJSON, `null`, "ends"}, // it may have been 123
	{"end behind an id", `{"method":"m","id":12 `, notJSON, `12`, "ends"},
	{"end in a string id", `{"method":"m","id":"12`, notJSON, `null`, "ends"},
	{"trailing bytes", `{"id":1,"method":"m"} x`, notJSON, `1`, "after the end"},
	{"trailing NUL", "{\"id\":1,\"method\":\"m\"}\x00", notJSON, `1`, "after the end"},
	{"NUL", "{\"id\":1,\"method\":\"m\",\x00\"params\":{}}", notJSON, `1`, ""},
	{"NUL for a value", "{\"id\":1,\"method\":\"m\",\"params\":\x00}", notJSON, `1`, ""},
	{"only NUL", "\x00", notJSON, `null`, ""},
	{"two objects", `{"id":1,"method":"m"}{"id":2,"method":"m"}`, notJSON, `1`, "after the end"},
	{"two objects with a blank", `{"id":1,"method":"m"} {"id":2,"method":"m"}`, notJSON, `1`, "after the end"},
	{"BOM", "\ufeff{\"id\":1,\"method\":\"m\"}", notJSON, `null`, ""},
	{"trailing comma", `{"id":1,"method":"m",}`, notJSON, `1`, "key"},
	{"leading comma", `{,"id":1,"method":"m"}`, notJSON, `null`, "key"},
	{"two commas", `{"id":1,,"method":"m"}`, notJSON, `null`, "key"},
	{"comma in an array", `{"id":1,"method":"m","params":{"a":[1,]}}`, notJSON, `1`, "value"},
	{"no comma", `{"id":1 "method":"m"}`, notJSON, `null`, "comma"},
	{"no colon", `{"id" 1,"method":"m"}`, notJSON, `null`, "colon"},
	{"wrong bracket", `{"id":1,"method":"m","params":{"a":[}}`, notJSON, `1`, ""},
	{"wrong end", `{"id":1,"method":"m","params":[1}`, notJSON, `1`, ""},
	{"key without quotes", `{id:1,"method":"m"}`, notJSON, `null`, "key"},
	{"number as a key", `{1:1,"id":1,"method":"m"}`, notJSON, `null`, "key"},
	{"single quotes", `{'id':1,'method':'m'}`, notJSON, `null`, "key"},
	{"comment", `{"id":1,/* */"method":"m"}`, notJSON, `null`, ""},
	{"white space of Unicode", "{\u00a0\"id\":1,\"method\":\"m\"}", notJSON, `null`, ""},
	{"form feed", "{\f\"id\":1,\"method\":\"m\"}", notJSON, `null`, ""},

	// Numbers and literals.
	{"leading zero", `{"id":1,"method":"m","params":{"n":01}}`, notJSON, `1`, ""},
	{"leading zero, negative", `{"id":1,"method":"m","params":{"n":-01}}`, notJSON, `1`, ""},
	{"id with a leading zero", `{"id":01,"method":"m"}`, notJSON, `null`, ""},
	{"plus", `{"id":1,"method":"m","params":{"n":+1}}`, notJSON, `1`, ""},
	{"only a minus", `{"id":1,"method":"m","params":{"n":-}}`, notJSON, `1`, "digit"},
	{"no digit before the point", `{"id":1,"method":"m","params":{"n":.5}}`, notJSON, `1`, ""},
	{"no digit behind the point", `{"id":1,"method":"m","params":{"n":1.}}`, notJSON, `1`, "digit"},
	{"no exponent", `{"id":1,"method":"m","params":{"n":1e}}`, notJSON, `1`, "digit"},
	{"no exponent behind its sign", `{"id":1,"method":"m","params":{"n":1e+}}`, notJSON, `1`, "digit"},
	{"hexadecimal", `{"id":1,"method":"m","params":{"n":0x1}}`, notJSON, `1`, ""},
	{"NaN", `{"id":1,"method":"m","params":{"n":NaN}}`, notJSON, `1`, ""},
	{"Infinity", `{"id":1,"method":"m","params":{"n":Infinity}}`, notJSON, `1`, ""},
	{"True", `{"id":1,"method":"m","params":{"n":True}}`, notJSON, `1`, ""},
	{"half a literal", `{"id":1,"method":"m","params":{"n":tru}}`, notJSON, `1`, ""},
	{"literal and more", `{"id":1,"method":"m","params":{"n":truer}}`, notJSON, `1`, ""},

	// Strings.
	{"tab in a string", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"a\tb\"}}", notJSON, `1`, "control character"},
	{"NUL in a string", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\x00\"}}", notJSON, `1`, "control character"},
	{"control character 1f", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"12345678\x1f\"}}", notJSON, `1`, "control character"},
	{"control character in a key", "{\"id\":1,\"method\":\"m\",\"params\":{\"\x01\":1}}", notJSON, `1`, "control character"},
	{"unknown escape", `{"id":1,"method":"m","params":{"t":"\x41"}}`, notJSON, `1`, "unknown escape"},
	{"escaped single quote", `{"id":1,"method":"m","params":{"t":"\'"}}`, notJSON, `1`, "unknown escape"},
	{"three digits", `{"id":1,"method":"m","params":{"t":"\u041"}}`, notJSON, `1`, `\u`},
	{"no digits", `{"id":1,"method":"m","params":{"t":"\uzzzz"}}`, notJSON, `1`, `\u`},
	{"high surrogate alone", `{"id":1,"method":"m","params":{"t":"\ud800"}}`, notJSON, `1`, "surrogate"},
	{"high surrogate and text", `{"id":1,"method":"m","params":{"t":"\ud800abcdefgh"}}`, notJSON, `1`, "surrogate"},
	{"high surrogate and an escape", `{"id":1,"method":"m","params":{"t":"\ud800\nabcdefgh"}}`, notJSON, `1`, "surrogate"},
	{"high surrogate and another escape in front of a low one", `{"id":1,"method":"m","params":{"t":"\ud800\ndc00abcd"}}`, notJSON, `1`, "surrogate"},
	{"high surrogate and a low one without a backslash", `{"id":1,"method":"m","params":{"t":"\ud800xudc00abcd"}}`, notJSON, `1`, "surrogate"},
	{"high surrogate and no low one", `{"id":1,"method":"m","params":{"t":"\ud800\u0041"}}`, notJSON, `1`, "surrogate"},
	{"two high surrogates", `{"id":1,"method":"m","params":{"t":"\ud800\ud800"}}`, notJSON, `1`, "surrogate"},
	{"high surrogate and a broken one", `{"id":1,"method":"m","params":{"t":"\ud800\uzzzz"}}`, notJSON, `1`, "surrogate"},
	{"low surrogate alone", `{"id":1,"method":"m","params":{"t":"\udc00"}}`, notJSON, `1`, "surrogate"},
	{"surrogates in the wrong order", `{"id":1,"method":"m","params":{"t":"\udc00\ud800"}}`, notJSON, `1`, "surrogate"},
	{"lone surrogate in a key", `{"id":1,"method":"m","params":{"\ud800":1}}`, notJSON, `1`, "surrogate"},

	// UTF-8. One such byte ends codex.
	{"stray byte", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xff\"}}", notJSON, `1`, "not UTF-8"},
	{"continuation byte", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"12345678\x80\"}}", notJSON, `1`, "not UTF-8"},
	{"cut short", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xe6\xbc\"}}", notJSON, `1`, "not UTF-8"},
	{"too long form", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xc0\xaf\"}}", notJSON, `1`, "not UTF-8"},
	{"surrogate in UTF-8", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xed\xa0\x80\"}}", notJSON, `1`, "not UTF-8"},
	{"over U+10FFFF", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xf4\x90\x80\x80\"}}", notJSON, `1`, "not UTF-8"},
	{"stray byte in a key", "{\"id\":1,\"method\":\"m\",\"params\":{\"\xff\":1}}", notJSON, `1`, "not UTF-8"},
	{"stray byte between tokens", "{\"id\":1,\"method\":\"m\",\xff\"params\":{}}", notJSON, `1`, ""},
	{"Latin-1", "{\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"caf\xe9\"}}", notJSON, `1`, "not UTF-8"},

	// Keys. Inside params codex takes the last of two.
	{"key twice", `{"id":1,"method":"m","method":"n"}`, notJSON, `1`, `duplicate key "method"`},
	{"id twice", `{"id":1,"id":2,"method":"m"}`, notJSON, `1`, "duplicate key"},
	{"key twice, escaped", `{"id":1,"method":"m","m\u0065thod":"n"}`, notJSON, `1`, "duplicate key"},
	{"key twice, both escaped", `{"id":1,"\u006dethod":"m","m\u0065thod":"n"}`, notJSON, `1`, "duplicate key"},
	{"key twice, slash escaped", `{"id":1,"method":"m","params":{"a/b":1,"a\/b":2}}`, notJSON, `1`, "duplicate key"},
	{"key twice, beyond the basic plane", `{"id":1,"method":"m","params":{"😀":1,"\ud83d\ude00":2}}`, notJSON, `1`, "duplicate key"},
	{"key twice in params", `{"id":1,"method":"m","params":{"a":1,"a":1}}`, notJSON, `1`, "duplicate key"},
	{"empty key twice", `{"id":1,"method":"m","params":{"":1,"":1}}`, notJSON, `1`, "duplicate key"},
	{"key twice in an array", `{"id":1,"method":"m","params":{"a":[[{"b":1,"c":{},"b":1}]]}}`, notJSON, `1`, "duplicate key"},
	{"key twice around an object", `{"id":1,"method":"m","params":{"a":{"b":{"a":1}},"a":1}}`, notJSON, `1`, "duplicate key"},
	{"long key twice", `{"id":1,"method":"m","params":{"` + strings.Repeat("k", 300) + `":1,"` + strings.Repeat("k", 300) + `":2}}`, notJSON, `1`, "duplicate key"},
	{"deep key twice", `{"id":1,"method":"m","params":` + strings.Repeat(`{"a":`, 100) + `{"b":1,"b":2}` + strings.Repeat("}", 100) + `}`, notJSON, `1`, "duplicate key"},
	{"last compared key twice", `{"id":1,"method":"m","params":` + object(rpc.MaxCompared-2, `"a":1`, `"a":2`) + `}`, notJSON, `1`, "duplicate key"},
	{"first sorted key twice", `{"id":1,"method":"m","params":` + object(rpc.MaxCompared-1, `"a":1`, `"a":2`) + `}`, notJSON, `1`, "duplicate key"},
	{"key twice among many", `{"id":1,"method":"m","params":` + object(1000, `"member-a0":1`) + `}`, notJSON, `1`, "duplicate key"},
	{"key twice among many, escaped", `{"id":1,"method":"m","params":` + object(1000, `"z":1`, `"\u007a":1`) + `}`, notJSON, `1`, "duplicate key"},
	{"top-level key twice among many", object(50, `"id":1`, `"method":"m"`, `"z":1`, `"z":1`), notJSON, `1`, "duplicate key"},
	{"too many members", `{"id":1,"method":"m","params":` + object(rpc.MaxMembers-2) + `}`, notJSON, `1`, "members"},
	{"too many members around each other", `{"id":1,"method":"m","params":` + object(30000, `"a":`+object(30000, `"a":`+object(30000))) + `}`, notJSON, `1`, "members"},

	// serde_json takes {"$serde_json::private::RawValue":"\"never\""} for "never".
	{"private raw value", `{"id":1,"method":"m","params":{"a":{"$serde_json::private::RawValue":"\"never\""}}}`, notJSON, `1`, "private"},
	{"private number", `{"id":1,"method":"m","params":{"a":[[{"$serde_json::private::Number":"1"}]]}}`, notJSON, `1`, "private"},
	{"private key, escaped", `{"id":1,"method":"m","params":{"a":{"\u0024serde_json::private::RawValue":"1"}}}`, notJSON, `1`, "private"},
	{"private key, escaped in the middle", `{"id":1,"method":"m","params":{"$serde_json:\u003aprivate::Number":"1"}}`, notJSON, `1`, "private"},
	{"private key at the top", `{"$serde_json::private::RawValue":"{}"}`, notJSON, `null`, "private"},
	{"private key of another name", `{"id":1,"method":"m","params":{"$serde_json::private::":1}}`, notJSON, `1`, "private"},
	{"private key beside others", `{"id":1,"method":"m","params":{"a":1,"$serde_json::private::Number":"1"}}`, notJSON, `1`, "private"},
	{"private key for an id", `{"id":{"$serde_json::private::Number":"1"},"method":"m"}`, notJSON, `null`, "private"},

	{"too deep", `{"id":1,` + nested(127)[1:], notJSON, `1`, "127"},
	{"too deep in objects", `{"id":1,` + nestedObjects(127)[1:], notJSON, `1`, "127"},
	{"too deep and broken", `{"id":1,"method":"m","params":` + strings.Repeat("[", 1000), notJSON, `1`, "127"},
	{"much too deep", `{"id":1,"method":"m","params":` + strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6) + `}`, notJSON, `1`, "127"},

	// Valid JSON, but not JSON-RPC.
	{"batch", `[{"id":1,"method":"m"}]`, invalid, `null`, "batch"},
	{"empty batch", `[]`, invalid, `null`, "batch"},
	{"string", `"m"`, invalid, `null`, "not a string"},
	{"number", `1`, invalid, `null`, "not a number"},
	{"null", `null`, invalid, `null`, "not null"},
	{"boolean", `true`, invalid, `null`, "not a boolean"},
	{"empty object", `{}`, invalid, `null`, "neither method nor id"},
	{"only jsonrpc", `{"jsonrpc":"2.0"}`, invalid, `null`, "neither method nor id"},
	{"only an id", `{"id":1}`, invalid, `null`, "either result or error"},
	{"only params", `{"params":{}}`, invalid, `null`, "neither method nor id"},
	{"Method", `{"id":1,"Method":"m"}`, invalid, `null`, "either result or error"},
	{"ID", `{"ID":1,"result":1}`, invalid, `null`, "neither method nor id"},
	{"result without id", `{"result":{}}`, invalid, `null`, "neither method nor id"},
	{"method null", `{"id":1,"method":null}`, invalid, `1`, "method is null"},
	{"method a number", `{"id":1,"method":1}`, invalid, `1`, "method is a number"},
	{"method an object", `{"id":1,"method":{"a":1}}`, invalid, `1`, "method is an object"},

	{"id null", `{"id":null,"method":"m"}`, invalid, `null`, "id is"},
	{"id 1e3", `{"id":1e3,"method":"m"}`, invalid, `null`, `"1e3"`},
	{"id 1.0", `{"id":1.0,"method":"m"}`, invalid, `null`, "id is"},
	{"id 1.5", `{"id":1.5,"method":"m"}`, invalid, `null`, "id is"},
	{"id over 64 bits", `{"id":9223372036854775808,"method":"m"}`, invalid, `null`, "64-bit"},
	{"id under 64 bits", `{"id":-9223372036854775809,"method":"m"}`, invalid, `null`, "64-bit"},
	{"huge id", `{"id":` + strings.Repeat("9", 1000) + `,"method":"m"}`, invalid, `null`, "..."},
	{"id true", `{"id":true,"method":"m"}`, invalid, `null`, "id is"},
	{"id an array", `{"id":[1],"method":"m"}`, invalid, `null`, "id is"},
	{"id an object", `{"id":{},"method":"m"}`, invalid, `null`, "id is"},
	{"answer to null", `{"id":null,"result":{}}`, invalid, `null`, "id is"},

	// Codex takes these as requests, so the reply has the id.
	{"method beside result", `{"id":1,"method":"m","result":{}}`, invalid, `1`, "must not have"},
	{"method beside error", `{"id":1,"method":"m","error":{}}`, invalid, `1`, "must not have"},
	{"method beside null result", `{"id":1,"method":"m","result":null}`, invalid, `1`, "must not have"},
	{"notification beside result", `{"method":"m","result":{}}`, invalid, `null`, "must not have"},

	// An error with the id of an invalid response would look like the response to one of
	// the client's own requests: both sides count from 0.
	{"result and error", `{"id":1,"result":{},"error":{}}`, invalid, `null`, "either result or error"},
	{"error not an object", `{"id":1,"error":"no"}`, invalid, `null`, "error is a string"},
	{"error null", `{"id":1,"error":null}`, invalid, `null`, "error is null"},
	{"broken answer", `{"id":1,"result":{}`, notJSON, `null`, ""},
	{"broken failure", `{"id":1,"error":{"code":01}}`, notJSON, `null`, ""},
	{"answer twice", `{"id":1,"result":{},"result":{}}`, notJSON, `null`, ""},
	{"answer, id behind the break", `{"result":{"a":"\ud800"},"id":1}`, notJSON, `null`, ""},
}

// nested returns a notification whose params, one object, hold arrays, n levels in all.
func nested(n int) string {
	return `{"method":"m","params":{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}}`
}

// nestedObjects returns a notification whose params are n nested objects.
func nestedObjects(n int) string {
	return `{"method":"m","params":` + strings.Repeat(`{"a":`, n) + `0` + strings.Repeat("}", n) + `}`
}

// object returns an object with n different keys, and then the members more.
func object(n int, more ...string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		// The keys are long and have a common prefix, so only whole keys differ.
		b.WriteString(`"member-` + strings.Repeat("x", i%3) + string(rune('a'+i%26)) + strconv.Itoa(i) + `":0`)
	}
	for i, m := range more {
		if i > 0 || n > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m)
	}
	b.WriteByte('}')
	return b.String()
}
