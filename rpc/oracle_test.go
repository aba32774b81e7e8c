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

	"codex-bridge/rpc"
)

// strictly asks another strict parser: it refuses duplicate keys, lone surrogates
// and what is not UTF-8, as ours has to, and knows nothing of codex's limits.
func isStrict(text []byte) bool { return jsontext.Value(text).IsValid() }

// decode is encoding/json's reading of a text, with numbers as they are written.
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

// tree is the same of a Value.
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

// shape is what limits a text beside its grammar.
type shape struct {
	depth   int  // of arrays and objects
	members int  // of an object and those around it
	private bool // there is a key of serde_json's own
}

// shapeOf measures a strict text.
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

// codexTakes tells whether codex 0.169.0 takes a line for a message, as far as
// that was measured; it knows nothing of methods and params. That it is one line
// is a Source's business.
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

// same compares a Value with encoding/json's reading of its text.
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

// pretty is a tree as text: cmp.Diff takes ever so long for deep trees.
func pretty(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
