package rpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/rpc"
)

// tester has the common methods of *testing.T and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// model is a simpler implementation of Patch: a tree that each edit changes, and that is then
// written.
type model struct {
	v        rpc.Value
	name     string   // in its object
	children []*model // in order
	raw      string   // its replacement, or ""
	deleted  bool
	added    []added
}

type added struct{ name, raw string }

func modelOf(v rpc.Value) *model {
	m := &model{v: v}
	for name, c := range v.Members() {
		child := modelOf(c)
		child.name = name
		m.children = append(m.children, child)
	}
	for c := range v.Elements() {
		m.children = append(m.children, modelOf(c))
	}
	return m
}

// all returns m and all its descendants.
func (m *model) all() []*model {
	list := []*model{m}
	for _, c := range m.children {
		list = append(list, c.all()...)
	}
	return list
}

func (m *model) member(name string) *model {
	i := slices.IndexFunc(m.children, func(c *model) bool { return c.name == name })
	if m.v.Kind() != rpc.Object || i < 0 {
		return nil
	}
	return m.children[i]
}

func (m *model) replace(raw string) { m.raw, m.deleted = raw, false }

func (m *model) set(name, raw string) {
	if member := m.member(name); member != nil {
		member.replace(raw)
		return
	}
	for i := range m.added {
		if m.added[i].name == name {
			m.added[i].raw = raw
			return
		}
	}
	m.added = append(m.added, added{name, raw})
}

func (m *model) delete(name string) {
	if member := m.member(name); member != nil {
		member.deleted = true
	}
	m.added = slices.DeleteFunc(m.added, func(a added) bool { return a.name == name })
}

func (m *model) text() string {
	var parts []string
	switch kind := m.v.Kind(); {
	case m.raw != "":
		return m.raw
	case kind == rpc.Object:
		for _, c := range m.children {
			if !c.deleted {
				parts = append(parts, string(rpc.RawKey(c.v))+":"+c.text())
			}
		}
		for _, a := range m.added {
			name, _ := json.Marshal(a.name)
			parts = append(parts, string(name)+":"+a.raw)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case kind == rpc.Array:
		for _, c := range m.children {
			parts = append(parts, c.text())
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return string(m.v.Raw())
}

// raws are replacement values.
var raws = []string{`0`, `-1.50e+3`, `null`, `true`, `"x"`, `"\u00e9\n"`, `[]`, `{}`, `[1, {"a": 2}]`, `{"z":{"a":[null]}}`, ` "blank" `}

// edit is one step of a Patch: the indexes of the value, the name, the new text and the method.
type edit struct{ target, name, raw, what int }

// names returns names of members for edits: those that exist and some new ones.
func (m *model) names() []string {
	names := []string{"new", "a", "", "ü\"\n", "params"}
	for _, c := range m.children {
		names = append(names, c.name)
	}
	return names
}

// checkPatch makes the edits on the Patch and on the model, and compares the results.
func checkPatch(t tester, line []byte, edits []edit) {
	t.Helper()
	m, err := rpc.ParseMessage(line)
	if err != nil || m.Truncated() {
		return
	}
	before := bytes.Clone(line)
	root := modelOf(m.Root())
	all := root.all()
	p := rpc.NewPatch(m)
	for _, e := range edits {
		target := all[e.target%len(all)]
		name := target.names()[e.name%len(target.names())]
		raw := raws[e.raw%len(raws)]
		switch {
		case target.v.Kind() != rpc.Object || e.what%3 == 0:
			p.Replace(target.v, []byte(raw))
			target.replace(raw)
		case e.what%3 == 1:
			p.Set(target.v, name, []byte(raw))
			target.set(name, raw)
		default:
			p.Delete(target.v, name)
			target.delete(name)
		}
	}

	out := p.Bytes()
	if !bytes.Equal(line, before) {
		t.Fatalf("the message itself has become %q", line)
	}
	if !p.Changed() && (len(out) != len(line) || &out[0] != &line[0]) {
		t.Fatalf("without an edit, %q became %q", line, out)
	}
	if !isStrict(out) {
		t.Fatalf("%q became %q, which is not strict", line, out)
	}
	want := []byte(root.text())
	if got, want := mustDecode(t, out), mustDecode(t, want); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q became %q (-want +got):\n%s", line, out, cmp.Diff(pretty(want), pretty(got)))
	}
	// Untouched text is written as before, in the same order, except for white space.
	if got, want := compact(t, out), compact(t, want); got != want {
		t.Fatalf("%q became\n%q, want\n%q", line, got, want)
	}
	if want, ok := splice(line, root); ok && !bytes.Equal(want, out) {
		t.Fatalf("more than the values has changed:\n%q became\n%q, want\n%q", line, out, want)
	}
}

func mustDecode(t tester, text []byte) any {
	t.Helper()
	v, err := decode(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func compact(t tester, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return b.String()
}

// splice returns the text with the replaced values. ok is false if members were also added
// or removed.
func splice(text []byte, root *model) (out []byte, ok bool) {
	from, ok := 0, true
	var walk func(m *model)
	walk = func(m *model) {
		ok = ok && !m.deleted && len(m.added) == 0
		if m.raw == "" {
			for _, c := range m.children {
				walk(c)
			}
			return
		}
		start, end := rpc.Span(m.v)
		out = append(append(out, text[from:start]...), m.raw...)
		from = end
	}
	walk(root)
	return append(out, text[from:]...), ok
}

// textOf draws a strict JSON text, with any spelling that JSON allows.
func textOf(depth int) *rapid.Generator[string] {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\t", "\r", " \t "})
	scalar := rapid.SampledFrom([]string{`0`, `-0`, `1.50`, `1e400`, `12345678901234567890`, `null`, `true`, `false`,
		`""`, `"x"`, `"\u0041"`, `"\ud83d\ude00\/"`, `"é漢😀"`, `"{\"a\":[1,]}"`, `[]`, `{}`, `[ ]`, `{ }`})
	if depth == 0 {
		return scalar
	}
	return rapid.Custom(func(t *rapid.T) string {
		s := func() string { return space.Draw(t, "space") }
		n := rapid.IntRange(0, 4).Draw(t, "length")
		kind := rapid.IntRange(0, 2).Draw(t, "kind")
		if kind == 0 || n == 0 {
			return scalar.Draw(t, "scalar")
		}
		out, end := "[", "]"
		if kind == 1 {
			out, end = "{", "}"
		}
		keys := rapid.Permutation([]string{`"a"`, `"\u0062"`, `""`, `"ü\"\n"`, `"params"`, `"c/d"`}).Draw(t, "keys")
		for i := range n {
			if i > 0 {
				out += "," + s()
			}
			if kind == 1 {
				out += s() + keys[i] + s() + ":" + s()
			}
			out += textOf(depth-1).Draw(t, "value") + s()
		}
		return out + end
	})
}

func TestPatchLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := fmt.Sprintf(`{"id":1, "method":"m","params" :{"x":%s,"y":%s} }`, textOf(4).Draw(t, "x"), textOf(2).Draw(t, "y"))
		if !isStrict([]byte(line)) {
			t.Fatalf("drew %q", line)
		}
		step := rapid.Custom(func(t *rapid.T) edit {
			small := rapid.IntRange(0, 100)
			return edit{small.Draw(t, "target"), small.Draw(t, "key"), small.Draw(t, "raw"), small.Draw(t, "what")}
		})
		checkPatch(t, []byte(line), rapid.SliceOfN(step, 0, 6).Draw(t, "edits"))
	})
}

func FuzzPatch(f *testing.F) {
	for _, line := range captureLines(f, "in") {
		f.Add([]byte(line), []byte{5, 0, 1, 1, 4, 1, 3, 2})
	}
	for _, test := range accepted {
		if len(test.line) < 1000 {
			f.Add([]byte(test.line), []byte{3, 0, 0, 1, 3, 1, 1, 2, 2, 2, 5, 0})
		}
	}
	f.Fuzz(func(t *testing.T, line, program []byte) {
		if !json.Valid(line) || len(program) > 64 {
			return
		}
		var edits []edit
		for step := range slices.Chunk(program, 4) {
			if len(step) == 4 {
				edits = append(edits, edit{int(step[0]), int(step[1]), int(step[2]), int(step[3])})
			}
		}
		checkPatch(t, line, edits)
	})
}
