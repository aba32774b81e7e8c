// Package toml reads TOML as Codex does, or more strictly. All other packages read and write TOML through it.
//
// Measured with Codex 0.171: github.com/BurntSushi/toml accepts keys that a document defines twice, where Codex
// refuses the file; github.com/pelletier/go-toml/v2 refuses all that Codex refuses, but a key of Codex's TOML
// library and deep nesting, which Parse refuses. testdata/toml has the documents and Codex's values.
package toml

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Limits of a document. The library's search for duplicate keys is quadratic in their number.
const (
	maxDepth = 64     // of keys, tables and lists
	maxNodes = 10_000 // keys and elements of lists
)

// Node is a value of a TOML document and its place. One of Table, List and Scalar is set.
type Node struct {
	Key    int // offset of the key; of the value in a list
	Value  int // offset of the value; of the key in a table or list of tables made by a header
	Table  map[string]*Node
	List   []*Node
	Scalar any // a string, bool, int64, float64 or Date
}

// Date is the text of a date or time.
type Date string

// dateKey is the key by which Codex's TOML library passes on dates: a table that has it becomes one.
const dateKey = "$__toml_private_datetime"

// Plain returns the value without places, in the types of encoding/json, int64 and Date.
func (n *Node) Plain() any {
	switch {
	case n.Table != nil:
		out := make(map[string]any, len(n.Table))
		for key, c := range n.Table {
			out[key] = c.Plain()
		}
		return out
	case n.List != nil:
		out := make([]any, len(n.List))
		for i, c := range n.List {
			out[i] = c.Plain()
		}
		return out
	}
	return n.Scalar
}

// TrimBOM removes a byte order mark from the start of a document.
func TrimBOM(text string) string { return strings.TrimPrefix(text, "\ufeff") }

// Parse reads a document without a byte order mark. Its places count from the start of the text.
func Parse(text string) (*Node, *Error) {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return nil, NewLines(text).errorAt(i, "not UTF-8", "save the file as UTF-8")
		}
	}
	// The parser has the places; the decoder checks the document.
	r := reader{text: text, root: &Node{Table: make(map[string]*Node)}}
	if offset, ok := r.read(); !ok {
		return nil, NewLines(text).errorAt(offset, r.message, r.hint)
	}
	var values map[string]any
	err := toml.Unmarshal([]byte(text), &values)
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		e := &Error{Message: strings.TrimPrefix(syntax.Error(), "toml: ")}
		e.Line, e.Column = syntax.Position()
		e.explain(text[NewLines(text).offset(e.Line, e.Column):])
		return nil, e
	} else if err != nil {
		return nil, NewLines(text).errorAt(0, err.Error(), "")
	}
	return r.root, nil
}

// reader makes the nodes of a document.
type reader struct {
	text  string
	root  *Node
	nodes int // their number

	message, hint string // why the document is refused
}

// read makes nodes up to the first syntax error. If the document exceeds a limit, it returns false
// and the offset.
func (r *reader) read() (offset int, ok bool) {
	var parser unstable.Parser
	parser.Reset([]byte(r.text))
	current, depth := r.root, 0
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind == unstable.KeyValue {
			offset, ok = r.keyValue(current, e, depth)
		} else {
			current, depth, offset, ok = r.header(e)
		}
		if !ok || r.message != "" {
			return offset, false
		}
	}
	return 0, true
}

// exceeds reports whether the document exceeds a limit.
func (r *reader) exceeds(depth int) bool {
	switch {
	case depth > maxDepth:
		r.message, r.hint = fmt.Sprintf("nested more than %d deep", maxDepth), "nest tables and lists less"
	case r.nodes > maxNodes:
		r.message, r.hint = fmt.Sprintf("more than %d keys and list elements", maxNodes), "write fewer"
	}
	return r.message != ""
}

// child returns the node of a key. The first call for a key makes the node.
func (r *reader) child(n *Node, key *unstable.Node) *Node {
	if n.Table == nil {
		n.Table = make(map[string]*Node)
	}
	c := n.Table[string(key.Data)]
	if c == nil {
		c = &Node{Key: int(key.Raw.Offset), Value: int(key.Raw.Offset)}
		n.Table[string(key.Data)] = c
		r.nodes++
	}
	if string(key.Data) == dateKey {
		r.message, r.hint = "a key that Codex takes for a date", "write another key"
	}
	return c
}

// header returns the table of [a.b] or [[a.b]], and its depth. A part that names a list of tables is its last
// table.
func (r *reader) header(e *unstable.Node) (n *Node, depth, offset int, ok bool) {
	n = r.root
	for keys := e.Key(); keys.Next(); {
		offset = int(keys.Node().Raw.Offset)
		if depth++; r.exceeds(depth) {
			return nil, depth, offset, false
		}
		n = r.child(n, keys.Node())
		if e.Kind == unstable.ArrayTable && keys.IsLast() {
			n.List = append(n.List, &Node{Key: offset, Value: offset})
			r.nodes++
			depth++
		}
		if len(n.List) > 0 {
			n = n.List[len(n.List)-1]
		}
		if n.Table == nil {
			n.Table = make(map[string]*Node)
		}
	}
	return n, depth, offset, true
}

// keyValue adds a key and its value to a table.
func (r *reader) keyValue(n *Node, e *unstable.Node, depth int) (offset int, ok bool) {
	for keys := e.Key(); keys.Next(); depth++ {
		key := keys.Node().Raw
		n = r.child(n, keys.Node())
		offset = int(key.Offset + key.Length)
	}
	offset += strings.IndexByte(r.text[offset:], '=') + 1
	n.Value = r.skip(offset, " \t")
	return r.fill(n, e.Value(), depth)
}

// fill sets a node to a value and returns the offset of its end.
func (r *reader) fill(n *Node, v *unstable.Node, depth int) (end int, ok bool) {
	if r.exceeds(depth) {
		return n.Value, false
	}
	const separators = " \t\r\n,"
	children := v.Children()
	end = n.Value + 1
	switch v.Kind {
	case unstable.Array:
		n.List = []*Node{}
		for children.Next() {
			start := r.skip(end, separators)
			item := &Node{Key: start, Value: start}
			n.List = append(n.List, item)
			r.nodes++
			if end, ok = r.fill(item, children.Node(), depth+1); !ok {
				return end, false
			}
		}
	case unstable.InlineTable:
		n.Table = make(map[string]*Node)
		for children.Next() {
			if end, ok = r.keyValue(n, children.Node(), depth+1); !ok {
				return end, false
			}
		}
	default:
		n.Scalar = scalar(v)
		return int(v.Raw.Offset + v.Raw.Length), true
	}
	return r.skip(end, separators) + 1, true
}

// skip returns the offset after bytes of the set and comments.
func (r *reader) skip(offset int, set string) int {
	for {
		rest := strings.TrimLeft(r.text[offset:], set)
		offset = len(r.text) - len(rest)
		if !strings.HasPrefix(rest, "#") {
			return offset
		}
		offset += strings.IndexByte(rest, '\n')
	}
}

// scalar returns the value of a string, number, boolean, date or time. The decoder reports an
// invalid one.
func scalar(v *unstable.Node) any {
	text := string(v.Data)
	switch v.Kind {
	case unstable.String:
		return text
	case unstable.Bool:
		return text == "true"
	case unstable.Integer:
		n, _ := strconv.ParseInt(text, 0, 64)
		return n
	case unstable.Float:
		if strings.HasSuffix(text, "nan") {
			return math.NaN() // ParseFloat refuses its sign
		}
		f, _ := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		return f
	}
	return Date(text)
}
