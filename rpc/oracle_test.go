package rpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

// isStrict uses another strict parser: it rejects duplicate keys, lone surrogates and
// invalid UTF-8, too, but does not know Codex's limits.
func isStrict(text []byte) bool { return jsontext.Value(text).IsValid() }

// decode parses a text with encoding/json, with numbers as they are written.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something behind the value")
	}
	return v, nil
}

// tree returns the same for a Value.
func tree(v rpc.Value) any {
	switch v.Kind() {
	case rpc.Null:
		return nil
	case rpc.Bool:
		b, _ := v.Bool()
		return b
	case rpc.Number:
		return json.Number(v.Raw())
	case rpc.String:
		s, _ := v.Text()
		return s
	case rpc.Array:
		all := []any{}
		for e := range v.Elements() {
			all = append(all, tree(e))
		}
		return all
	case rpc.Object:
		all := map[string]any{}
		for key, m := range v.Members() {
			all[key] = tree(m)
		}
		return all
	}
	panic("a value that is not there")
}

// shape has the properties of a text that are limited.
type shape struct {
	depth   int  // of arrays and objects
	members int  // of an object and those around it
	private bool // a key is one of serde_json's own
}

// shapeOf returns the shape of a strict text.
func shapeOf(t testing.TB, text []byte) shape {
	var s shape
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		s.depth = max(s.depth, d.StackDepth())
		open := 0
		for i := range d.StackDepth() + 1 {
			if kind, n := d.StackIndex(i); kind == '{' {
				open += int(n+1) / 2
			}
		}
		s.members = max(s.members, open)
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 && strings.HasPrefix(token.String(), rpc.PrivatePrefix) {
			s.private = true
		}
	}
}

// codexAccepts reports whether Codex 0.169.0 accepts a line as a message, as far as measured.
// It does not check method, params or line ends.
func codexAccepts(line []byte) bool {
	v, err := decode(line)
	root, ok := v.(map[string]any)
	if err != nil || !ok {
		return false
	}
	switch id := root["id"].(type) {
	case nil:
		if _, null := root["id"]; null {
			return false
		}
	case string:
	case json.Number:
		if _, err := id.Int64(); err != nil {
			return false
		}
	default:
		return false
	}
	_, isCall := root["method"].(string)
	_, hasID := root["id"]
	_, result := root["result"]
	_, failed := root["error"].(map[string]any)
	return isCall || hasID && (result || failed)
}

// same compares a Value with the result of encoding/json for its text.
func same(t *testing.T, v rpc.Value, text []byte) {
	t.Helper()
	want, err := decode(text)
	if err != nil {
		t.Fatalf("encoding/json refuses %q: %v", text, err)
	}
	if got := tree(v); !reflect.DeepEqual(want, got) {
		t.Errorf("%q is read differently (-encoding/json +rpc):\n%s", text, cmp.Diff(pretty(want), pretty(got)))
	}
}

// pretty returns a tree as text: cmp.Diff is slow for deep trees.
func pretty(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
