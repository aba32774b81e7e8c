package rpc

import (
	"bytes"
	"iter"
	"unsafe"
)

// Kind is the type of a JSON value. The zero Kind is Absent.
type Kind uint8

// Kinds of a Value.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind for an error message, with an article.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// node is one value of a Doc. Nodes are in the order of the text. The first child of node
// i is i+1. The sibling after a child is its skip; the children end at i's own skip.
type node struct {
	start, end       uint32 // span of the value
	keyStart, keyEnd uint32 // span between the quotes of its key; both 0 in arrays
	skip             uint32 // index of the first node after this value
	kind             Kind
	keyEscaped       bool
}

// Doc is a strictly parsed JSON text.
type Doc struct {
	text  []byte
	nodes []node
	// truncated is set if the text has more values than the parser keeps (maxNodes).
	truncated bool
	// names is the Parser's cache of names; nil if the Doc has no Parser.
	names *nameCache
}

// Size returns how many bytes of memory the Doc keeps. A text of many short values needs twelve times its
// length.
func (d *Doc) Size() int { return len(d.text) + cap(d.nodes)*int(unsafe.Sizeof(node{})) }

// nameCache interns names, up to a bound. A client's messages repeat a few hundred names.
type nameCache map[string]string

func (n *nameCache) intern(raw []byte) string {
	if n == nil {
		return string(raw)
	}
	if name, ok := (*n)[string(raw)]; ok {
		return name
	}
	name := string(raw)
	if len(raw) <= 64 {
		if *n == nil || len(*n) >= 1024 {
			*n = make(nameCache)
		}
		(*n)[name] = name
	}
	return name
}

// Root returns the outermost value.
func (d *Doc) Root() Value {
	if len(d.nodes) == 0 {
		return Value{}
	}
	return Value{d, 0}
}

// Truncated reports whether the text has more values than a Doc keeps, so that Get and
// Members may miss some. Policy must refuse such a text.
func (d *Doc) Truncated() bool { return d.truncated }

// Value is one value of a Doc. The zero Value is Absent; all methods accept it.
type Value struct {
	doc *Doc
	i   uint32
}

func (v Value) node() *node { return &v.doc.nodes[v.i] }

// Kind returns the value's type; Absent for the zero Value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Absent
	}
	return v.node().kind
}

// Exists reports whether v is not the zero Value. A null exists.
func (v Value) Exists() bool { return v.doc != nil }

// Raw returns the value's text. It aliases the parsed text.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.text[n.start:n.end:n.end]
}

// Get returns the member key of an object. The result is Absent if there is none, or if v
// is not an object.
func (v Value) Get(key string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	end := v.node().skip
	for i := v.i + 1; i < end; i = v.doc.nodes[i].skip {
		if v.doc.keyIs(i, key) {
			return Value{v.doc, i}
		}
	}
	return Value{}
}

// Members returns an iterator over the members of an object, with unescaped names.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		end := v.node().skip
		for i := v.i + 1; i < end; i = v.doc.nodes[i].skip {
			if !yield(v.doc.key(i), Value{v.doc, i}) {
				return
			}
		}
	}
}

// Elements returns an iterator over the elements of an array.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		end := v.node().skip
		for i := v.i + 1; i < end; i = v.doc.nodes[i].skip {
			if !yield(Value{v.doc, i}) {
				return
			}
		}
	}
}

// Children iterates over the members of an object or the elements of an array without
// an allocation.
type Children struct {
	doc    *Doc
	i, end uint32
	named  bool
}

// Children returns the values in v. There are none unless v is an object or an array.
func (v Value) Children() Children {
	k := v.Kind()
	if k != Object && k != Array {
		return Children{}
	}
	return Children{v.doc, v.i + 1, v.node().skip, k == Object}
}

// Next returns the next value, with its unescaped name if it is a member. ok is false at
// the end.
func (c *Children) Next() (name string, value Value, ok bool) {
	if c.i >= c.end {
		return "", Value{}, false
	}
	value = Value{c.doc, c.i}
	if c.named {
		name = c.doc.key(c.i)
	}
	c.i = c.doc.nodes[c.i].skip
	return name, value, true
}

// Len returns the number of members or elements; 0 for other values.
func (v Value) Len() int {
	n := 0
	if k := v.Kind(); k != Object && k != Array {
		return 0
	}
	end := v.node().skip
	for i := v.i + 1; i < end; i = v.doc.nodes[i].skip {
		n++
	}
	return n
}

// Text returns the unescaped text of a string. ok is false for other values.
func (v Value) Text() (text string, ok bool) {
	if v.Kind() != String {
		return "", false
	}
	raw := v.Raw()
	return unquote(raw[1 : len(raw)-1]), true
}

// Is reports whether v is the string text. It does not allocate for strings without
// escapes.
func (v Value) Is(text string) bool {
	if v.Kind() != String {
		return false
	}
	raw := v.Raw()
	return equalsQuoted(raw[1:len(raw)-1], text)
}

// Bool returns the value of a boolean. ok is false for other values.
func (v Value) Bool() (value, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.Raw()[0] == 't', true
}

func (d *Doc) key(i uint32) string {
	n := &d.nodes[i]
	raw := d.text[n.keyStart:n.keyEnd]
	if !n.keyEscaped {
		return d.names.intern(raw)
	}
	return unquote(raw)
}

func (d *Doc) keyIs(i uint32, key string) bool {
	n := &d.nodes[i]
	raw := d.text[n.keyStart:n.keyEnd]
	if !n.keyEscaped {
		return string(raw) == key
	}
	return unquote(raw) == key
}

// equalsQuoted reports whether the inside of a JSON string is text.
func equalsQuoted(raw []byte, text string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == text
	}
	return unquote(raw) == text
}
