package methods

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

// addMembers adds the names of the members that an object of this shape, or of one of its alternatives, can have.
func (s *Shape) addMembers(definitions map[string]*Shape, to map[string]bool) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		definitions[s.Ref].addMembers(definitions, to)
	}
	if s.Tag != "" {
		to[s.Tag] = true
	}
	for name := range s.Members {
		to[name] = true
	}
	s.Untagged.addMembers(definitions, to)
	for _, one := range slices.Concat(s.Any, slices.Collect(maps.Values(s.Variants))) {
		one.addMembers(definitions, to)
	}
}

// Letters in Shape.Kinds.
const (
	KindNull   = 'z'
	KindBool   = 'b'
	KindNumber = 'n'
	KindString = 's'
	KindArray  = 'a'
	KindObject = 'o'
	KindAny    = '*'
)

// ShapeTable has the shapes of one Codex.
type ShapeTable struct {
	Version       string            `json:"version"`
	Requests      map[string]*Shape `json:"requests"`      // params of the client's requests
	Notifications map[string]*Shape `json:"notifications"` // params of the client's notifications
	Answers       map[string]*Shape `json:"answers"`       // results of the client's responses
	Definitions   map[string]*Shape `json:"definitions"`
}

//go:embed shapes.json
var shapesJSON []byte

// Shapes returns the table of the measured Codex. The caller must not change it.
var Shapes = sync.OnceValue(func() *ShapeTable {
	t := new(ShapeTable)
	if err := json.Unmarshal(shapesJSON, t); err != nil {
		panicShapes(err)
	}
	return t
})

// shapeNodes are the compiled shapes of one side's methods that messages have needed so far. It may be
// used concurrently.
type shapeNodes struct {
	c      *shapeCompiler
	shapes map[string][]byte
	byName map[string]*shapeNode
}

// lookup returns the node of a method, or nil if the table does not have the method.
func (n *shapeNodes) lookup(method string) *shapeNode {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	known, ok := n.byName[method]
	if text, exists := n.shapes[method]; !ok && exists {
		known = n.c.node(decodeShape(text))
		n.byName[method] = known
	}
	return known
}

// clientNodes are the nodes for a client's messages.
type clientNodes struct{ requests, notifications, responses *shapeNodes }

var compiledShapes = sync.OnceValue(func() clientNodes {
	texts := shapeTexts(shapesJSON)
	c := &shapeCompiler{definitions: texts["definitions"], shapes: make(map[string]*Shape), done: make(map[string]*shapeNode)}
	side := func(name string) *shapeNodes {
		return &shapeNodes{c: c, shapes: texts[name], byName: make(map[string]*shapeNode)}
	}
	return clientNodes{side("requests"), side("notifications"), side("answers")}
})

// shapeTexts returns the shapes by table and name. Each is a line of its own, as cmd/bridge-schema writes
// them. Parsing the whole text as JSON would take 2 ms of each start with a policy.
func shapeTexts(text []byte) map[string]map[string][]byte {
	tables := make(map[string]map[string][]byte)
	var table map[string][]byte
	for line := range bytes.Lines(text) {
		quoted, value, found := bytes.Cut(bytes.TrimRight(line, ",\n"), []byte(": "))
		name := strings.Trim(string(quoted), `"`)
		switch {
		case !found:
		case string(value) == "{":
			table = make(map[string][]byte)
			tables[name] = table
		case table != nil:
			table[name] = value
		}
	}
	return tables
}

func decodeShape(text []byte) *Shape {
	s := new(Shape)
	if err := json.Unmarshal(text, s); err != nil {
		panicShapes(err)
	}
	return s
}

// panicShapes panics because of an invalid table. A test decodes all of it.
func panicShapes(err error) {
	panic(fmt.Sprintf("bridge/methods/shapes.json: %v; write it with `make schema`", err))
}

// shapeNode is a compiled Shape.
type shapeNode struct {
	kinds    uint8 // a bit for each rpc.Kind
	anyValue bool  // everything is valid
	ref      *shapeNode
	any      []*shapeNode
	elem     *shapeNode
	members  map[string]*shapeNode
	required []string
	refused  []string
	closed   bool
	values   *shapeNode
	tag      string
	variants map[string]*shapeNode
	untagged *shapeNode
	want     string // for error messages
}

// shapeCompiler compiles shapes to nodes.
type shapeCompiler struct {
	mu          sync.Mutex
	definitions map[string][]byte
	shapes      map[string]*Shape     // decoded definitions
	done        map[string]*shapeNode // compiled definitions
}

// shape returns a definition.
func (c *shapeCompiler) shape(name string) *Shape {
	s, ok := c.shapes[name]
	if !ok {
		text, exists := c.definitions[name]
		if !exists {
			panicShapes(fmt.Errorf("no definition %s", name))
		}
		s = decodeShape(text)
		c.shapes[name] = s
	}
	return s
}

// node compiles a shape. The lock must be held, as for the methods that it calls.
func (c *shapeCompiler) node(s *Shape) *shapeNode {
	if s == nil {
		return nil
	}
	n := new(shapeNode)
	c.fill(n, s)
	return n
}

func (c *shapeCompiler) fill(n *shapeNode, s *Shape) {
	n.anyValue = strings.ContainsRune(s.Kinds, KindAny)
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

func (c *shapeCompiler) nodes(shapes map[string]*Shape) map[string]*shapeNode {
	if shapes == nil {
		return nil
	}
	m := make(map[string]*shapeNode, len(shapes))
	for name, s := range shapes {
		m[name] = c.node(s)
	}
	return m
}

func (c *shapeCompiler) definition(name string) *shapeNode {
	if n, ok := c.done[name]; ok {
		return n
	}
	n := new(shapeNode)
	c.done[name] = n // before fill, since definitions may be recursive
	c.fill(n, c.shape(name))
	return n
}

// describe returns a shape in words.
func (c *shapeCompiler) describe(s *Shape) string {
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
