// Package shape holds what a client sends to the plain shape that Codex's own JSON
// schema gives it.
//
// Codex reads with serde, which takes many forms of one value: an array in place of a
// struct, a map with one key in place of an enum's name, an array in place of a tagged
// object. The bridge judges the form that the schema describes, and no other. Check says
// what in a message has another form.
//
// The table, codex.json, is written by cmd/bridge-schema from the schema that Codex
// prints. It is decoded when it is first needed. The package is pure.
package shape

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Shape is what a value may be. Exactly one of Ref, Any and Kinds (with what belongs to
// it) says so; with Ref and Any, Kinds are allowed as well.
type Shape struct {
	Ref   string   `json:"ref,omitempty"`
	Any   []*Shape `json:"any,omitempty"`  // one of them
	Kinds string   `json:"k,omitempty"`    // letters of kinds; "*" is anything
	Elem  *Shape   `json:"of,omitempty"`   // of an array; nil: anything
	Enum  []string `json:"enum,omitempty"` // the strings that Codex knows

	Members  map[string]*Shape `json:"has,omitempty"`
	Required []string          `json:"must,omitempty"`
	// Refused are members that the schema does not have and Codex reads all the same.
	Refused []string `json:"refused,omitempty"`
	Closed  bool     `json:"closed,omitempty"` // no other members
	Values  *Shape   `json:"values,omitempty"` // of members beside Members; nil: anything

	Tag      string            `json:"tag,omitempty"` // the member that names the variant
	Variants map[string]*Shape `json:"variants,omitempty"`
	Untagged *Shape            `json:"untagged,omitempty"` // an object without the tag; nil: there is none
}

// The letters of Shape.Kinds.
const (
	Null    = 'z'
	Bool    = 'b'
	Number  = 'n'
	String  = 's'
	Array   = 'a'
	Object  = 'o'
	Anytype = '*'
)

// Table is the shapes of one Codex.
type Table struct {
	Version       string            `json:"version"`
	Requests      map[string]*Shape `json:"requests"`      // params of the client's requests
	Notifications map[string]*Shape `json:"notifications"` // params of its notifications
	Answers       map[string]*Shape `json:"answers"`       // results that it gives to Codex
	Definitions   map[string]*Shape `json:"definitions"`
}

//go:embed codex.json
var text []byte

// Codex returns the table of the measured Codex. It must not be changed.
var Codex = sync.OnceValue(func() *Table {
	t := new(Table)
	if err := json.Unmarshal(text, t); err != nil {
		panic(fmt.Sprintf("bridge/shape/codex.json: %v; write it with `make schema`", err))
	}
	return t
})

// compiled is the same with references resolved.
var compiled = sync.OnceValue(func() *nodes {
	t := Codex()
	c := compiler{table: t, done: make(map[string]*node)}
	all := func(shapes map[string]*Shape) map[string]*node {
		m := make(map[string]*node, len(shapes))
		for name, s := range shapes {
			m[name] = c.node(s)
		}
		return m
	}
	return &nodes{all(t.Requests), all(t.Notifications), all(t.Answers)}
})

type nodes struct{ requests, notifications, answers map[string]*node }

// node is a Shape that is fast to check.
type node struct {
	kinds    uint8 // a bit for each rpc.Kind
	free     bool  // anything
	ref      *node
	any      []*node
	elem     *node
	members  map[string]*node
	required []string
	refused  []string
	closed   bool
	values   *node
	tag      string
	variants map[string]*node
	untagged *node
	want     string // for people
}

type compiler struct {
	table *Table
	done  map[string]*node // by definition
}

func (c *compiler) node(s *Shape) *node {
	if s == nil {
		return nil
	}
	n := new(node)
	c.fill(n, s)
	return n
}

func (c *compiler) fill(n *node, s *Shape) {
	n.free = strings.ContainsRune(s.Kinds, Anytype)
	for _, letter := range s.Kinds {
		n.kinds |= 1 << kindOf(letter)
	}
	n.tag, n.required, n.refused, n.closed = s.Tag, s.Required, s.Refused, s.Closed
	if s.Ref != "" {
		n.ref = c.definition(s.Ref)
	}
	for _, one := range s.Any {
		n.any = append(n.any, c.node(one))
	}
	n.elem, n.values, n.untagged = c.node(s.Elem), c.node(s.Values), c.node(s.Untagged)
	n.members, n.variants = c.nodes(s.Members), c.nodes(s.Variants)
	n.want = c.describe(s)
}

func (c *compiler) nodes(shapes map[string]*Shape) map[string]*node {
	if shapes == nil {
		return nil
	}
	m := make(map[string]*node, len(shapes))
	for name, s := range shapes {
		m[name] = c.node(s)
	}
	return m
}

func (c *compiler) definition(name string) *node {
	if n, ok := c.done[name]; ok {
		return n
	}
	s, ok := c.table.Definitions[name]
	if !ok {
		panic("bridge/shape/codex.json has no definition " + name)
	}
	n := new(node)
	c.done[name] = n // before what is in it: definitions may lead back
	c.fill(n, s)
	return n
}

// describe is a shape in words.
func (c *compiler) describe(s *Shape) string {
	for seen := 0; s.Ref != "" && seen < 10; seen++ {
		d := *c.table.Definitions[s.Ref]
		d.Kinds += s.Kinds
		s = &d
	}
	var words []string
	for _, letter := range s.Kinds {
		words = append(words, wordOf(letter))
	}
	for _, one := range s.Any {
		words = append(words, c.describe(one))
	}
	if s.Tag != "" {
		words = append(words, fmt.Sprintf("an object with %q", s.Tag))
	}
	return strings.Join(words, " or ")
}
