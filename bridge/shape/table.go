// Package shape holds what a client sends to the plain shape that Codex's own JSON
// schema gives it.
//
// Codex reads with serde, which takes many forms of one value: an array in place of a
// struct, a map with one key in place of an enum's name, an array in place of a tagged
// object. The bridge judges the form that the schema describes, and no other. Check says
// what in a message has another form.
//
// The table, codex.json, is written by cmd/bridge-schema from the schema that Codex
// prints. The shapes of a method are decoded when the first message has that method: few
// methods are used in a conversation, and all shapes take 12 ms and 2 MiB. The package is
// pure.
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
	AnyKind = '*'
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
var tableJSON []byte

// Codex returns the table of the measured Codex. It must not be changed.
var Codex = sync.OnceValue(func() *Table {
	t := new(Table)
	if err := json.Unmarshal(tableJSON, t); err != nil {
		panicTable(err)
	}
	return t
})

// nodes are the shapes of one side's methods with references resolved, as far as messages
// have needed them. They are safe for concurrent use.
type nodes struct {
	c      *compiler
	shapes map[string]json.RawMessage
	byName map[string]*node
}

// of returns the node of a method, nil for a method that the table does not have.
func (n *nodes) lookup(method string) *node {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	known, ok := n.byName[method]
	if text, exists := n.shapes[method]; !ok && exists {
		known = n.c.node(decode(text))
		n.byName[method] = known
	}
	return known
}

// sides are the nodes that messages of the client are checked against.
type sides struct{ requests, notifications, responses *nodes }

var tables = sync.OnceValue(func() sides {
	var t struct{ Requests, Notifications, Answers, Definitions map[string]json.RawMessage }
	if err := json.Unmarshal(tableJSON, &t); err != nil {
		panicTable(err)
	}
	c := &compiler{definitions: t.Definitions, shapes: make(map[string]*Shape), done: make(map[string]*node)}
	side := func(shapes map[string]json.RawMessage) *nodes {
		return &nodes{c: c, shapes: shapes, byName: make(map[string]*node)}
	}
	return sides{side(t.Requests), side(t.Notifications), side(t.Answers)}
})

func decode(text json.RawMessage) *Shape {
	s := new(Shape)
	if err := json.Unmarshal(text, s); err != nil {
		panicTable(err)
	}
	return s
}

// panicTable is for a table that was not written by cmd/bridge-schema. A test decodes all of it.
func panicTable(err error) {
	panic(fmt.Sprintf("bridge/shape/codex.json: %v; write it with `make schema`", err))
}

// node is a Shape that is fast to check.
type node struct {
	kinds    uint8 // a bit for each rpc.Kind
	anyValue bool  // anything
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

// compiler makes nodes of shapes.
type compiler struct {
	mu          sync.Mutex
	definitions map[string]json.RawMessage
	shapes      map[string]*Shape // definitions that were decoded
	done        map[string]*node  // by definition
}

// shape returns a definition.
func (c *compiler) shape(name string) *Shape {
	s, ok := c.shapes[name]
	if !ok {
		text, exists := c.definitions[name]
		if !exists {
			panicTable(fmt.Errorf("no definition %s", name))
		}
		s = decode(text)
		c.shapes[name] = s
	}
	return s
}

// node is called with the lock held, as all that it calls.
func (c *compiler) node(s *Shape) *node {
	if s == nil {
		return nil
	}
	n := new(node)
	c.fill(n, s)
	return n
}

func (c *compiler) fill(n *node, s *Shape) {
	n.anyValue = strings.ContainsRune(s.Kinds, AnyKind)
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
	n := new(node)
	c.done[name] = n // before what is in it: definitions may lead back
	c.fill(n, c.shape(name))
	return n
}

// describe is a shape in words.
func (c *compiler) describe(s *Shape) string {
	for seen := 0; s.Ref != "" && seen < 10; seen++ {
		d := *c.shape(s.Ref)
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
