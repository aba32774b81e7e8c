// Package shape checks that a client's messages have the shape of Codex's own JSON schema.
//
// Codex decodes with serde, which accepts several forms of a value: an array for a struct, a map
// with one key for the name of an enum, an array for a tagged object. The policy examines only
// the form in the schema, so messages with another form must be refused.
//
// cmd/bridge-schema writes the table, codex.json, from the schema that Codex prints. The shapes of
// a method are decoded at its first message: few methods are used in a conversation, and all
// shapes take 12 ms and 2 MiB. The functions may be called concurrently.
package shape

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Shape describes the values that are valid: by Ref, Any, or Kinds with the other fields. With Ref
// and Any, Kinds are valid as well.
type Shape struct {
	Ref   string   `json:"ref,omitempty"`
	Any   []*Shape `json:"any,omitempty"`  // alternatives
	Kinds string   `json:"k,omitempty"`    // letters of kinds
	Elem  *Shape   `json:"of,omitempty"`   // of an array; nil means anything
	Enum  []string `json:"enum,omitempty"` // known strings

	Members  map[string]*Shape `json:"has,omitempty"`
	Required []string          `json:"must,omitempty"`
	// Refused are members that the schema lacks, but Codex reads.
	Refused []string `json:"refused,omitempty"`
	Closed  bool     `json:"closed,omitempty"` // no other members are valid
	Values  *Shape   `json:"values,omitempty"` // of other members; nil means anything

	Tag      string            `json:"tag,omitempty"` // the member with the name of the variant
	Variants map[string]*Shape `json:"variants,omitempty"`
	Untagged *Shape            `json:"untagged,omitempty"` // an object without the tag; nil if invalid
}

// Letters in Shape.Kinds.
const (
	Null    = 'z'
	Bool    = 'b'
	Number  = 'n'
	String  = 's'
	Array   = 'a'
	Object  = 'o'
	AnyKind = '*'
)

// Table has the shapes of one Codex.
type Table struct {
	Version       string            `json:"version"`
	Requests      map[string]*Shape `json:"requests"`      // params of the client's requests
	Notifications map[string]*Shape `json:"notifications"` // params of the client's notifications
	Answers       map[string]*Shape `json:"answers"`       // results of the client's responses
	Definitions   map[string]*Shape `json:"definitions"`
}

//go:embed codex.json
var tableJSON []byte

// Codex returns the table of the measured Codex. The caller must not change it.
var Codex = sync.OnceValue(func() *Table {
	t := new(Table)
	if err := json.Unmarshal(tableJSON, t); err != nil {
		panicTable(err)
	}
	return t
})

// nodes are the compiled shapes of one side's methods that messages have needed so far. It may be
// used concurrently.
type nodes struct {
	c      *compiler
	shapes map[string]json.RawMessage
	byName map[string]*node
}

// lookup returns the node of a method, or nil if the table does not have the method.
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

// sides are the nodes for a client's messages.
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

// panicTable panics because of an invalid table. A test decodes all of it.
func panicTable(err error) {
	panic(fmt.Sprintf("bridge/shape/codex.json: %v; write it with `make schema`", err))
}

// node is a compiled Shape.
type node struct {
	kinds    uint8 // a bit for each rpc.Kind
	anyValue bool  // everything is valid
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
	want     string // for error messages
}

// compiler compiles shapes to nodes.
type compiler struct {
	mu          sync.Mutex
	definitions map[string]json.RawMessage
	shapes      map[string]*Shape // decoded definitions
	done        map[string]*node  // compiled definitions
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

// node compiles a shape. The lock must be held, as for the methods that it calls.
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
	c.done[name] = n // before fill, since definitions may be recursive
	c.fill(n, c.shape(name))
	return n
}

// describe returns a shape in words.
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
