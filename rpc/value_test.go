package rpc_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

func value(t testing.TB, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return doc.Root()
}

func TestValue(t *testing.T) {
	v := value(t, ` {"null":null,"yes":true,"no":false,"n":-1.50,"s":"x","a":[1,[2],{"b":3}],"o":{"a":{},"b":[]},"":0} `)
	kinds := map[string]rpc.Kind{"null": rpc.Null, "yes": rpc.Bool, "no": rpc.Bool, "n": rpc.Number,
		"s": rpc.String, "a": rpc.Array, "o": rpc.Object, "": rpc.Number, "none": rpc.Absent, "b": rpc.Absent}
	for key, want := range kinds {
		if got := v.Get(key).Kind(); got != want {
			t.Errorf("%q is %v, want %v", key, got, want)
		}
		if got := v.Get(key).Exists(); got != (want != rpc.Absent) {
			t.Errorf("%q exists: %v", key, got)
		}
	}
	raw := map[string]string{"null": "null", "n": "-1.50", "s": `"x"`, "a": `[1,[2],{"b":3}]`, "o": `{"a":{},"b":[]}`}
	for key, want := range raw {
		if got := string(v.Get(key).Raw()); got != want {
			t.Errorf("%q is written %s, want %s", key, got, want)
		}
	}
	lengths := map[string]int{"a": 3, "o": 2, "s": 0, "n": 0, "none": 0}
	for key, want := range lengths {
		if got := v.Get(key).Len(); got != want {
			t.Errorf("%q has length %d, want %d", key, got, want)
		}
	}
	if got := v.Len(); got != 8 {
		t.Errorf("length %d", got)
	}
	for key, want := range map[string][2]bool{"yes": {true, true}, "no": {false, true}, "null": {}, "n": {}, "none": {}} {
		if got, ok := v.Get(key).Bool(); got != want[0] || ok != want[1] {
			t.Errorf("%q is the boolean %v, %v", key, got, ok)
		}
	}
	if got := string(v.Get("o").Get("a").Raw()); got != "{}" {
		t.Errorf("o.a is %s", got)
	}
	if v.Get("a").Get("b").Exists() || v.Get("s").Get("x").Exists() || v.Get("none").Get("x").Exists() {
		t.Error("a value that is not an object has members")
	}
}

func TestMembersAndElements(t *testing.T) {
	v := value(t, `{"b":{"x":1},"\u0061\n":[10,[20,21],{"c":30}],"ü":2}`)
	var keys, members, elements []string
	for key, m := range v.Members() {
		keys = append(keys, key)
		members = append(members, string(m.Raw()))
	}
	for e := range v.Get("a\n").Elements() {
		elements = append(elements, string(e.Raw()))
	}
	want := [][]string{{"b", "a\n", "ü"}, {`{"x":1}`, `[10,[20,21],{"c":30}]`, `2`}, {`10`, `[20,21]`, `{"c":30}`}}
	if diff := cmp.Diff(want, [][]string{keys, members, elements}); diff != "" {
		t.Error(diff)
	}

	for range v.Members() {
		break // an iterator must stop early
	}
	for range v.Get("a\n").Elements() {
		break
	}
	for _, none := range []rpc.Value{{}, v.Get("ü"), v.Get("none")} {
		if n := len(maps.Collect(none.Members())) + len(slices.Collect(none.Elements())); n > 0 {
			t.Errorf("%v has %d members and elements", none.Kind(), n)
		}
	}
	if len(slices.Collect(v.Elements())) > 0 || len(maps.Collect(v.Get("a\n").Members())) > 0 {
		t.Error("an object has elements, or an array members")
	}
}

func TestZeroValue(t *testing.T) {
	var v rpc.Value
	if v.Kind() != rpc.Absent || v.Exists() || v.Raw() != nil || v.Len() != 0 || v.Is("") || v.Get("").Exists() {
		t.Errorf("the zero Value is %v", v.Kind())
	}
	if s, ok := v.Text(); s != "" || ok {
		t.Errorf("its text is %q, %v", s, ok)
	}
	if b, ok := v.Bool(); b || ok {
		t.Errorf("its boolean is %v, %v", b, ok)
	}
	var d rpc.Doc
	if d.Root().Exists() || d.Truncated() {
		t.Error("the zero Doc has a root")
	}
}

func TestText(t *testing.T) {
	tests := []struct{ raw, want string }{
		{`""`, ""},
		{`"plain"`, "plain"},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\u0000\u001f\u0041\u00e9\u6F22"`, "\x00\x1fAé漢"},
		{`"\u09af\u09AF"`, "\u09af\u09af"},
		{`"\ud83d\ude00\uD83D\uDE00"`, "😀😀"},
		{`"\ud800\udc00\udbff\udfff"`, "\U00010000\U0010ffff"},
		{`"é漢😀\n"`, "é漢😀\n"},
		{`"\\u0041"`, `\u0041`},
		{`"\uffff\ufeff"`, "\uffff\ufeff"},
		{`"` + strings.Repeat(`x\\`, 100) + `"`, strings.Repeat(`x\`, 100)},
	}
	for _, test := range tests {
		v := value(t, test.raw)
		if got, ok := v.Text(); got != test.want || !ok {
			t.Errorf("%s is %q, %v; want %q", test.raw, got, ok, test.want)
		}
		if !v.Is(test.want) || v.Is(test.want+"x") || v.Is(test.raw) {
			t.Errorf("%s: Is(%q) = %v", test.raw, test.want, v.Is(test.want))
		}
		same(t, v, []byte(test.raw))
		// And as a key.
		if o := value(t, `{`+test.raw+`:1}`); !o.Get(test.want).Exists() || o.Get(test.want+"x").Exists() {
			t.Errorf("%s as a key is not found", test.raw)
		}
	}
	for _, raw := range []string{`1`, `null`, `["x"]`, `{"x":"x"}`} {
		if got, ok := value(t, raw).Text(); ok || got != "" || value(t, raw).Is("") {
			t.Errorf("%s has the text %q", raw, got)
		}
	}
}

// The search by words must stop at the same byte as a search by bytes, at every offset
// within a word.
func TestPlainLen(t *testing.T) {
	slow := func(b []byte) int {
		for i, c := range b {
			if c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
				return i
			}
		}
		return len(b)
	}
	for c := range 256 {
		for length := range 20 {
			for at := range length {
				for _, around := range []byte{' ', '!', '#', 'a', '[', ']', '~', 0x7f} {
					b := []byte(strings.Repeat(string(rune(around)), length))
					b[at] = byte(c)
					if got, want := rpc.PlainLen(b), slow(b); got != want {
						t.Fatalf("plain(%q) = %d, want %d", b, got, want)
					}
				}
			}
		}
	}
}

// The parser and encoding/json understand accepted texts in the same way.
func TestValuesEqualEncodingJSON(t *testing.T) {
	for _, test := range accepted {
		same(t, value(t, test.line), []byte(test.line))
	}
	for _, line := range append(captureLines(t, "in"), captureLines(t, "out")...) {
		same(t, value(t, line), []byte(line))
	}
}

// Codex may send deeper values than it accepts.
func TestParseValueDepth(t *testing.T) {
	const most = 1 << 20
	for depth, ok := range map[int]bool{128: true, 10000: true, most: true, most + 1: false} {
		_, err := rpc.ParseValue([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		if (err == nil) != ok {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func TestTruncated(t *testing.T) {
	// Three nodes come before the elements: root, "method" and its value.
	line := func(elements int) string {
		return `{"method":"m","params":{"a":[` + strings.TrimSuffix(strings.Repeat("0,", elements), ",") + `]},"id":7}`
	}
	for elements, truncated := range map[int]bool{10: false, rpc.MaxNodes - 5: false, rpc.MaxNodes - 4: true, rpc.MaxNodes: true, 3 * rpc.MaxNodes: true} {
		var p rpc.Parser
		m, err := p.Message([]byte(line(elements)), true)
		if err != nil {
			t.Fatal(err)
		}
		if m.Truncated() != truncated {
			t.Errorf("with %d elements, truncated is %v", elements, m.Truncated())
		}
		// The envelope is still complete.
		if m.Kind != rpc.Request || string(m.ID.Raw()) != "7" || m.Method != "m" {
			t.Errorf("with %d elements it is %v, id %s, method %q", elements, m.Kind, m.ID.Raw(), m.Method)
		}
		if got := m.Params.Get("a").Len(); !truncated && got != elements || got > elements {
			t.Errorf("with %d elements there are %d", elements, got)
		}
		// The next message is not.
		if m, err = p.Message([]byte(line(3)), true); err != nil || m.Truncated() {
			t.Errorf("after %d elements, the next is truncated: %v, %v", elements, m.Truncated(), err)
		}
		// A shallow parse does not keep nodes below the envelope.
		if m, err = p.Message([]byte(line(elements)), false); err != nil || m.Truncated() {
			t.Errorf("with %d elements, shallow: truncated %v, %v", elements, m.Truncated(), err)
		}
	}
}

// A text with too many values is checked to its end.
func TestTruncatedIsStillStrict(t *testing.T) {
	many := strings.Repeat("0,", 2*rpc.MaxNodes)
	for name, tail := range map[string]string{
		"key twice":      `{"a":1,"a":2}`,
		"not UTF-8":      "\"\xff\"",
		"leading zero":   `01`,
		"private key":    `{"$serde_json::private::Number":"1"}`,
		"depth":          strings.Repeat("[", 126) + strings.Repeat("]", 126),
		"lone surrogate": `"\ud800"`,
	} {
		t.Run(name, func(t *testing.T) {
			var p rpc.Parser
			for _, deep := range []bool{true, false} {
				r := parseError(t, &p, `{"id":7,"method":"m","params":{"a":[`+many+tail+`]}}`, deep)
				if string(r.ID.Raw()) != "7" {
					t.Errorf("deep %v: id %s", deep, r.ID.Raw())
				}
			}
		})
	}
}

func TestChildren(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":[2,3],"c":{}}`: `a=1 b=[2,3] c={} `, `[1,[2,3],{"a":4}]`: `=1 =[2,3] ={"a":4} `, `[]`: "", `{}`: "", `1`: "", `"text"`: "", `null`: "",
	} {
		d, err := rpc.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for children := d.Root().Children(); ; {
			name, value, ok := children.Next()
			if !ok {
				break
			}
			got += name + "=" + string(value.Raw()) + " "
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
