package rpc_test

import (
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

func TestPatch(t *testing.T) {
	type edit = func(p *rpc.Patch, root rpc.Value)
	set := func(path, key, raw string) edit {
		return func(p *rpc.Patch, root rpc.Value) { p.Set(at(root, path), key, []byte(raw)) }
	}
	del := func(path, key string) edit {
		return func(p *rpc.Patch, root rpc.Value) { p.Delete(at(root, path), key) }
	}
	replace := func(path, raw string) edit {
		return func(p *rpc.Patch, root rpc.Value) { p.Replace(at(root, path), []byte(raw)) }
	}
	tests := []struct {
		name, text string
		edits      []edit
		want       string
	}{
		{"nothing", ` {"method" : "m"} `, nil, ` {"method" : "m"} `},
		{"set existing", `{"method":"m","params":{"a":1,"b":2}}`, []edit{set("params", "a", `"x"`)}, `{"method":"m","params":{"a":"x","b":2}}`},
		{"set existing at the top", `{"method":"m","x":1}`, []edit{set("", "x", `[]`)}, `{"method":"m","x":[]}`},
		{"set existing keeps white space", "{ \"method\":\"m\",\t\"params\" : { \"a\" : 1 , \"b\" : 2 } }\r\n", []edit{set("params", "a", `3`)},
			"{ \"method\":\"m\",\t\"params\" : { \"a\" : 3 , \"b\" : 2 } }\r\n"},
		{"set existing by an escaped key", `{"method":"m","params":{"\u0061":1}}`, []edit{set("params", "a", `2`)}, `{"method":"m","params":{"\u0061":2}}`},
		{"set an object", `{"method":"m","params":{"a":{"b":1}}}`, []edit{set("params", "a", `null`)}, `{"method":"m","params":{"a":null}}`},
		{"set twice", `{"method":"m","params":{"a":1}}`, []edit{set("params", "a", `2`), set("params", "a", `3`)}, `{"method":"m","params":{"a":3}}`},

		{"add", `{"method":"m","params":{"a":1}}`, []edit{set("params", "b", `2`)}, `{"method":"m","params":{"a":1,"b":2}}`},
		{"add to an empty object", `{"method":"m","params":{ }}`, []edit{set("params", "b", `2`)}, `{"method":"m","params":{"b":2}}`},
		{"add at the top", `{"method":"m"}` + "\n", []edit{set("", "params", `{}`)}, `{"method":"m","params":{}}` + "\n"},
		{"add two", `{"method":"m","params":{}}`, []edit{set("params", "b", `1`), set("params", "a", `2`)}, `{"method":"m","params":{"b":1,"a":2}}`},
		{"add twice", `{"method":"m","params":{}}`, []edit{set("params", "b", `1`), set("params", "b", `2`)}, `{"method":"m","params":{"b":2}}`},
		{"add a key with escapes", `{"method":"m","params":{}}`, []edit{set("params", "a\"\n", `1`)}, `{"method":"m","params":{"a\"\n":1}}`},
		{"add in white space", `{"method":"m", "params":{ "a" : [ 1 , 2 ] }, "x":1}`, []edit{set("params", "b", `2`)}, `{"method":"m", "params":{"a":[ 1 , 2 ],"b":2}, "x":1}`},

		{"delete the first", `{"method":"m","params":{"a":1,"b":2,"c":3}}`, []edit{del("params", "a")}, `{"method":"m","params":{"b":2,"c":3}}`},
		{"delete the middle", `{"method":"m","params":{"a":1,"b":2,"c":3}}`, []edit{del("params", "b")}, `{"method":"m","params":{"a":1,"c":3}}`},
		{"delete the last", `{"method":"m","params":{"a":1,"b":2,"c":3}}`, []edit{del("params", "c")}, `{"method":"m","params":{"a":1,"b":2}}`},
		{"delete all", `{"method":"m","params":{"a":1,"b":2}}`, []edit{del("params", "a"), del("params", "b")}, `{"method":"m","params":{}}`},
		{"delete none", `{"method":"m","params":{ "a":1 }}`, []edit{del("params", "b")}, `{"method":"m","params":{ "a":1 }}`},
		{"delete where there is no object", `{"method":"m","params":{ "a":1 }}`, []edit{del("none", "b"), del("method", "b")}, `{"method":"m","params":{ "a":1 }}`},
		{"delete where there is no object, and not elsewhere", `{"method":"m"}`, []edit{set("", "new", `1`), del("none", "new")}, `{"method":"m","new":1}`},
		{"delete in white space", "{ \"method\" : \"m\" , \"jsonrpc\" : \"2.0\" , \"params\" : { \"a\" : 1 } } \n", []edit{del("", "jsonrpc")},
			"{\"method\":\"m\",\"params\":{ \"a\" : 1 }} \n"},
		{"delete by an escaped key", `{"method":"m","params":{"\u0061":1}}`, []edit{del("params", "a")}, `{"method":"m","params":{}}`},
		{"escaped keys stay", `{"method":"m","params":{"\u0061":1,"b":"\u0062","c":1e0}}`, []edit{del("params", "none"), set("params", "d", `0`)}, `{"method":"m","params":{"\u0061":1,"b":"\u0062","c":1e0,"d":0}}`},

		{"set after delete", `{"method":"m","params":{"a":1,"b":2}}`, []edit{del("params", "a"), set("params", "a", `3`)}, `{"method":"m","params":{"a":3,"b":2}}`},
		{"replace after delete", `{"method":"m","params":{"a":1,"b":2}}`, []edit{del("params", "a"), replace("params.a", `3`)}, `{"method":"m","params":{"a":3,"b":2}}`},
		{"delete after set", `{"method":"m","params":{"a":1,"b":2}}`, []edit{set("params", "a", `3`), del("params", "a")}, `{"method":"m","params":{"b":2}}`},
		{"delete after add", `{"method":"m","params":{"a":1}}`, []edit{set("params", "b", `2`), del("params", "b")}, `{"method":"m","params":{"a":1}}`},
		{"delete one of two added", `{"method":"m","params":{"a":1}}`, []edit{set("params", "b", `2`), set("params", "c", `3`), del("params", "b")}, `{"method":"m","params":{"a":1,"c":3}}`},
		{"add after delete after add", `{"method":"m","params":{}}`, []edit{set("params", "b", `2`), del("params", "b"), set("params", "b", `3`)}, `{"method":"m","params":{"b":3}}`},

		{"replace", `{"method":"m","params":{"a":1}}`, []edit{replace("params", `{"b":[]}`)}, `{"method":"m","params":{"b":[]}}`},
		{"replace everything", ` {"method":"m"} ` + "\n", []edit{replace("", `{}`)}, ` {} ` + "\n"},
		{"replace in arrays", `{"method":"m","params":{"a":[1, [2,3], {"b": 4}]}}`, []edit{replace("params.a.0", `{}`), replace("params.a.1.1", `[]`), set("params.a.2", "b", `5`)},
			`{"method":"m","params":{"a":[{}, [2,[]], {"b": 5}]}}`},
		{"nested", `{"method":"m","params":{"a":{"b":{"c":[{"d":1 , "e":2}]} , "x":0}}}`, []edit{set("params.a.b.c.0", "d", `9`)},
			`{"method":"m","params":{"a":{"b":{"c":[{"d":9 , "e":2}]} , "x":0}}}`},
		{"nested delete", `{"method":"m","params":{"a":{"b":{"c":[{"d":1 , "e":2}]} , "x":0}}}`, []edit{del("params.a.b.c.0", "d")},
			`{"method":"m","params":{"a":{"b":{"c":[{"e":2}]} , "x":0}}}`},
		{"several at once", `{"id":1,"method":"m","params":{"a":{"x":1},"b":[{"y":1}, 2],"c":3}}`,
			[]edit{set("params.a", "z", `0`), replace("params.b.1", `"two"`), del("params", "c"), set("params.b.0", "y", `null`), set("", "id", `"1"`)},
			`{"id":"1","method":"m","params":{"a":{"x":1,"z":0},"b":[{"y":null}, "two"]}}`},
		{"edits around each other", `{"method":"m","params":{"a":{"b":1}}}`, []edit{set("params.a", "b", `2`), set("params", "a", `3`)}, `{"method":"m","params":{"a":3}}`},
		// A deleted value can't be edited.
		{"edit below what is replaced", `{"method":"m","params":{"a":{"b":1}}}`, []edit{set("params", "a", `{"b":3}`), set("params.a", "b", `2`)}, `{"method":"m","params":{"a":{"b":3}}}`},
		{"edit below what is deleted", `{"method":"m","params":{"a":{"b":1}}}`, []edit{del("params", "a"), set("params.a", "b", `2`)}, `{"method":"m","params":{}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := rpc.ParseMessage([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			p := rpc.NewPatch(m)
			for _, e := range test.edits {
				e(p, m.Root())
			}
			if got := string(p.Bytes()); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if string(m.Bytes()) != test.text {
				t.Errorf("the message itself has become %q", m.Bytes())
			}
		})
	}
}

// at returns the value at a path of keys and indexes, separated by dots.
func at(v rpc.Value, path string) rpc.Value {
	for len(path) > 0 {
		var step string
		step, path, _ = strings.Cut(path, ".")
		if v.Kind() != rpc.Array {
			v = v.Get(step)
			continue
		}
		i := 0
		for e := range v.Elements() {
			if step == string(rune('0'+i)) {
				v = e
				break
			}
			i++
		}
	}
	return v
}

func TestPatchChanged(t *testing.T) {
	text := []byte(`{"method":"m","params":{"a":1}}`)
	m, err := rpc.ParseMessage(text)
	if err != nil {
		t.Fatal(err)
	}
	p := rpc.NewPatch(m)
	p.Delete(m.Params, "none")
	p.Delete(rpc.Value{}, "none")
	if p.Changed() || &p.Bytes()[0] != &text[0] {
		t.Error("a patch without an edit has changed the message")
	}
	p.Set(m.Params, "a", []byte("2"))
	if !p.Changed() {
		t.Error("a patch with an edit has not changed the message")
	}
}

// Messages from Codex can be rewritten, too; ParseEnvelope keeps all values.
func TestPatchOfAnEnvelope(t *testing.T) {
	e, err := rpc.ParseEnvelope([]byte(`{"id":1,"result":{"a":{"b":1} , "userAgent":"x/0.169.0"}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := rpc.NewEnvelopePatch(e)
	p.Set(e.Root().Get("result").Get("a"), "b", []byte("2"))
	p.Set(e.Root(), "bridge", []byte("{}"))
	if got, want := string(p.Bytes()), `{"id":1,"result":{"a":{"b":2} , "userAgent":"x/0.169.0"},"bridge":{}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// These are mistakes of the caller. They must not be ignored: the policy would assume that
// its edit was made.
func TestPatchPanics(t *testing.T) {
	m, err := rpc.ParseMessage([]byte(`{"method":"m","params":{"a":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(p *rpc.Patch){
		"replace what is not there": func(p *rpc.Patch) { p.Replace(m.Params.Get("b"), nil) },
		"set in a number":           func(p *rpc.Patch) { p.Set(m.Params.Get("a"), "b", nil) },
		"set in nothing":            func(p *rpc.Patch) { p.Set(rpc.Value{}, "b", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f(rpc.NewPatch(m))
		})
	}
}

func TestReplaceNewlines(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"{}":                     "{}",
		"\n{\n\n\"a\"\r\n:1}\n":  " {  \"a\"\r :1} ",
		"{\"a\":\"b\\nc\",\n1":   "{\"a\":\"b\\nc\", 1",
		"\n":                     " ",
		"[\n1,\n2\n]":            "[ 1, 2 ]",
		"no line end, but blank": "no line end, but blank",
	} {
		got := []byte(text)
		if rpc.ReplaceNewlines(got); string(got) != want {
			t.Errorf("OneLine(%q) = %q, want %q", text, got, want)
		}
	}
}
