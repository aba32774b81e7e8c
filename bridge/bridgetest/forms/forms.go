// Package forms makes, of the shapes that Codex's schema gives to a client's messages,
// the other forms of the same values that serde takes or may take: an array for a struct,
// a map for an enum, an array or a map for a tagged object, a number for a string, null,
// serde's private keys, names that are there twice or escaped. It is for tests.
package forms

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/methods"
)

// Form is one value of a message in another form.
type Form struct {
	Kind  string   // "array for struct"
	Path  []string // from params or result on; an index of an array is a number
	Text  string   // the value at Path; "" if the object at Path repeats a member
	Value string   // the whole of params or result
}

// Plain returns a value of a shape in its plain form, with its required members only.
func Plain(t *methods.ShapeTable, s *methods.Shape) string { return (&maker{t: t}).plain(s) }

// Of are all other forms of all values that a shape has.
func Of(t *methods.ShapeTable, s *methods.Shape) []Form {
	m := &maker{t: t}
	m.visit(s, "", nil, func(text string) string { return text })
	return m.forms
}

type maker struct {
	t     *methods.ShapeTable
	forms []Form
}

// resolve is a shape without its reference, and whether null is one of its values.
func (m *maker) resolve(s *methods.Shape) (*methods.Shape, bool) {
	null := strings.ContainsRune(s.Kinds, methods.KindNull)
	for s.Ref != "" {
		s = m.t.Definitions[s.Ref]
		null = null || strings.ContainsRune(s.Kinds, methods.KindNull)
	}
	return s, null
}

func (m *maker) plain(s *methods.Shape) string {
	s, _ = m.resolve(s)
	is := func(kind rune) bool { return strings.ContainsRune(s.Kinds, kind) }
	switch {
	case is(methods.KindAny):
		return `{}`
	case s.Tag != "":
		return m.plain(s.Variants[slices.Sorted(maps.Keys(s.Variants))[0]])
	case len(s.Enum) > 0:
		return strconv.Quote(s.Enum[0])
	case is(methods.KindString):
		return `"T"`
	case len(s.Any) > 0:
		return m.plain(s.Any[0])
	case is(methods.KindObject):
		return m.object(s, "", "")
	case is(methods.KindArray):
		return `[]`
	case is(methods.KindNumber):
		return `1`
	case is(methods.KindBool):
		return `false`
	}
	return `null`
}

// object returns an object with its required members and one member with a given text.
func (m *maker) object(s *methods.Shape, name, text string) string {
	var members []string
	for _, required := range s.Required {
		if required != name {
			members = append(members, strconv.Quote(required)+":"+m.plain(s.Members[required]))
		}
	}
	if name != "" {
		members = append(members, strconv.Quote(name)+":"+text)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// visit adds the forms of a value and of its members; around puts the rest of the
// message around a text.
// also are the kinds that other alternatives of the value have.
func (m *maker) visit(s *methods.Shape, also string, path []string, around func(string) string) {
	s, null := m.resolve(s)
	is := func(kind rune) bool { return strings.ContainsRune(s.Kinds, kind) }
	null = null || strings.ContainsRune(also, methods.KindNull)
	plain := m.plain(s)
	add := func(kind, text string) {
		if text[0] == '"' && strings.ContainsRune(also, methods.KindString) {
			return // a string is one of its plain forms
		}
		m.forms = append(m.forms, Form{kind, slices.Clone(path), text, around(text)})
	}
	private := func() {
		add("private key", `{"$serde_json::private::RawValue":`+strconv.Quote(plain)+`}`)
	}
	if is(methods.KindAny) {
		add("private key", `{"$serde_json::private::RawValue":"{}"}`)
		add("private key", `{"$__toml_private_datetime":"1979-05-27"}`)
		return
	}
	private()
	if !null {
		add("null", `null`)
	}
	switch {
	case s.Tag != "":
		for _, name := range slices.Sorted(maps.Keys(s.Variants)) {
			variant, _ := m.resolve(s.Variants[name])
			quoted, value := strconv.Quote(name), m.plain(variant)
			add("array for tagged", `[`+quoted+`]`)
			add("array for tagged", `[`+quoted+`,`+value+`]`)
			add("map for tagged", `{`+quoted+`:`+value+`}`)
			if len(variant.Members) > 0 {
				tag := strconv.Quote(s.Tag) + ":"
				for kind, form := range map[string]string{"map for tag": `{` + quoted + `:null}`, "array for tag": `[` + quoted + `]`, "null for tag": `null`, "number for tag": `0`} {
					m.forms = append(m.forms, Form{kind, append(slices.Clone(path), s.Tag), form, around(m.object(variant, s.Tag, form))})
				}
				twice := m.object(variant, s.Tag, quoted)
				m.forms = append(m.forms, Form{"name twice", slices.Clone(path), "", around(twice[:len(twice)-1] + `,` + tag + quoted + `}`)})
			}
			m.members(variant, s.Tag, path, around)
		}
		return
	case len(s.Any) > 0:
		for _, one := range s.Any {
			if null {
				also += string(methods.KindNull)
			}
			m.visit(one, also+s.Kinds, path, around)
		}
	}
	if is(methods.KindString) {
		for _, value := range s.Enum {
			quoted := strconv.Quote(value)
			add("map for enum", `{`+quoted+`:null}`)
			add("array for enum", `[`+quoted+`]`)
		}
		if len(s.Any) == 0 {
			add("map for string", `{"0":`+plain+`}`)
			add("array for string", `[`+plain+`]`)
		}
		if !is(methods.KindNumber) && !slices.ContainsFunc(s.Any, func(one *methods.Shape) bool { return strings.ContainsRune(one.Kinds, methods.KindNumber) }) {
			add("number for string", `0`)
		}
	}
	switch {
	case len(s.Any) > 0:
	case is(methods.KindNumber):
		add("private number", `{"$serde_json::private::Number":"1"}`)
		if !is(methods.KindString) {
			add("string for number", `"1"`)
		}
	case is(methods.KindBool):
		add("number for boolean", `0`)
		add("string for boolean", `"false"`)
	case is(methods.KindArray):
		add("map for array", `{"0":1}`)
		add("string for array", `"[]"`)
		if s.Elem != nil {
			m.visit(s.Elem, "", append(slices.Clone(path), "0"), func(text string) string { return around(`[` + text + `]`) })
		}
	case is(methods.KindObject):
		add("string for struct", strconv.Quote(plain))
		m.structs(s, add)
		m.members(s, "", path, around)
		if s.Values != nil {
			m.visit(s.Values, "", append(slices.Clone(path), "k"), func(text string) string { return around(`{"k":` + text + `}`) })
		}
	}
}

// structs are arrays of a struct's fields. The schema does not tell the order in which
// Codex has them: each field is at each place.
func (m *maker) structs(s *methods.Shape, add func(kind, text string)) {
	names := slices.Sorted(maps.Keys(s.Members))
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = m.plain(s.Members[name])
	}
	if len(values) == 0 {
		add("array for struct", `[]`)
		return
	}
	for range values {
		add("array for struct", `[`+strings.Join(values, ",")+`]`)
		values = append(values[1:], values[0])
	}
	nulls := slices.Repeat([]string{"null"}, len(values))
	for _, value := range slices.Compact(slices.Sorted(slices.Values(values))) {
		for i := range nulls {
			nulls[i] = value
			add("array for struct", `[`+strings.Join(nulls, ",")+`]`)
			nulls[i] = "null"
		}
	}
}

// members are the forms of an object's members, and of the names that they have.
func (m *maker) members(s *methods.Shape, tag string, path []string, around func(string) string) {
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		if name == tag {
			continue
		}
		m.visit(s.Members[name], "", append(slices.Clone(path), name), func(text string) string { return around(m.object(s, name, text)) })
		value := m.plain(s.Members[name])
		once := m.object(s, name, value)
		for _, again := range []string{strconv.Quote(name), escaped(name)} {
			m.forms = append(m.forms, Form{"name twice", slices.Clone(path), "", around(once[:len(once)-1] + "," + again + ":" + value + "}")})
		}
	}
}

// escaped is a name as a JSON string whose first character is written as an escape.
func escaped(name string) string {
	return fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
}
