package config

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Limits of a document. The library's search for duplicate keys is quadratic in their number.
const (
	maxDepth = 64     // of keys, tables and lists
	maxNodes = 10_000 // keys and elements of lists
)

// node is a value of a TOML document and its place. One of table, list and scalar is set.
type node struct {
	key    int // offset of the key; of the value in a list
	value  int // offset of the value; of the key in a table or list of tables made by a header
	table  map[string]*node
	list   []*node
	scalar any // a string, bool, int64, float64 or date
}

// date is the text of a date or time. No key takes one.
type date string

// plain returns the value without places, in the types of encoding/json and int64.
func (n *node) plain() any {
	switch {
	case n.table != nil:
		out := make(map[string]any, len(n.table))
		for key, c := range n.table {
			out[key] = c.plain()
		}
		return out
	case n.list != nil:
		out := make([]any, len(n.list))
		for i, c := range n.list {
			out[i] = c.plain()
		}
		return out
	}
	return n.scalar
}

// parseTOML reads a document. Its places count from the start of the text. The error has a place.
func parseTOML(text string) (*node, *Error) {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return nil, newLines(text).place(i, newError("not UTF-8", "save the file as UTF-8"))
		}
	}
	// The parser has the places; the decoder checks the document.
	r := tomlReader{text: text, root: &node{table: make(map[string]*node)}}
	if offset, ok := r.read(); !ok {
		return nil, newLines(text).place(offset, r.err)
	}
	var values map[string]any
	err := toml.Unmarshal([]byte(text), &values)
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		e := newError(strings.TrimPrefix(syntax.Error(), "toml: "), "")
		e.Line, e.Column = syntax.Position()
		e.explainSyntax(text[newLines(text).offset(e.Line, e.Column):])
		return nil, e
	} else if err != nil {
		return nil, newLines(text).place(0, newError(err.Error(), ""))
	}
	return r.root, nil
}

// explainSyntax adds a fix to an error of the TOML library. rest is the text from its place.
func (e *Error) explainSyntax(rest string) {
	first, size := utf8.DecodeRuneInString(rest)
	if size > 1 { // the library names its first byte
		e.Message = strings.Replace(e.Message, fmt.Sprintf("%#U", rest[0]), fmt.Sprintf("%#U", first), 1)
	}
	word := strings.ToLower(rest[:len(rest)-len(strings.TrimLeftFunc(rest, unicode.IsLetter))])
	switch {
	case strings.ContainsRune("“”„‘’«»", first):
		e.Hint = "use straight quotes, \" or '"
		return
	case slices.Contains(truthWords, word) && (strings.Contains(e.Message, "at start of value") || strings.Contains(e.Message, "expected keyword")):
		e.Hint = "write true or false"
		return
	}
	for _, one := range syntaxHints {
		if strings.Contains(e.Message, one.text) {
			e.Hint = one.hint
			return
		}
	}
}

// truthWords are words that other formats take for true or false.
var truthWords = []string{"true", "false", "yes", "no", "on", "off"}

// syntaxHints are fixes for the messages of the TOML library that contain a text. The first one counts.
var syntaxHints = []struct{ text, hint string }{
	{"U+000A at start of value", "write a value after ="},
	{"not end of input", "write a value after ="},
	{"at start of value", "write text in quotes"},
	{"strings must be quoted", "write text in quotes"},
	{"expected keyword", "write true or false, and text in quotes"},
	{"to close array table name", "write [[NAME]] on a line of its own"},
	{"to close table name", "write [NAME] on a line of its own"},
	{"basic strings cannot have new lines", "end the text with \" on the same line"},
	{"literal strings cannot have new lines", "end the text with ' on the same line"},
	{"unterminated basic string", "end the text with \" on the same line"},
	{"unterminated literal string", "end the text with ' on the same line"},
	{`terminated by """`, `end the text with """`},
	{"terminated by '''", "end the text with '''"},
	{"cannot have control characters", "remove the control character"},
	{"array is incomplete", "end the list with ]"},
	{"inline table is incomplete", "end the table with }"},
	{"or ']' after array value", "put a comma between two values, and ] after the last"},
	{"after inline table key-value", "put a comma between two keys, and } after the last"},
	{"expected '=' after", "write KEY = VALUE"},
	{"expected newline", "write one key on each line"},
	{"invalid escape", backslashHint},
	{"unicode", backslashHint},
	{"invalid character at start of key", "write KEY = VALUE; a comment starts with #"},
	{"as an array of tables", "write [[NAME]] here, too"},
	{"should be an array table", "write [[NAME]] at each place"},
	{"already exists", "write all keys of the table under one [NAME]"},
	{"already defined", "keep one of the two"},
	{"should be a table", "keep one of the two"},
}

const backslashHint = "write \\\\ for a backslash, or use 'single quotes'"

// tomlReader makes the nodes of a document.
type tomlReader struct {
	text  string
	root  *node
	nodes int    // their number
	err   *Error // the document exceeds a limit
}

// read makes nodes up to the first syntax error. If the document exceeds a limit, it returns false
// and the offset.
func (r *tomlReader) read() (offset int, ok bool) {
	var parser unstable.Parser
	parser.Reset([]byte(r.text))
	current := r.root
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind == unstable.KeyValue {
			offset, ok = r.keyValue(current, e, 0)
		} else {
			current, offset, ok = r.header(e)
		}
		if !ok {
			return offset, false
		}
	}
	return 0, true
}

// exceeds reports whether the document exceeds a limit.
func (r *tomlReader) exceeds(depth int) bool {
	switch {
	case depth > maxDepth:
		r.err = newError(fmt.Sprintf("nested more than %d deep", maxDepth), "nest tables and lists less")
	case r.nodes > maxNodes:
		r.err = newError(fmt.Sprintf("more than %d keys and list elements", maxNodes), "write fewer")
	}
	return r.err != nil
}

// child returns the node of a key. The first call for a key makes the node.
func (r *tomlReader) child(n *node, key *unstable.Node) *node {
	if n.table == nil {
		n.table = make(map[string]*node)
	}
	c := n.table[string(key.Data)]
	if c == nil {
		c = &node{key: int(key.Raw.Offset), value: int(key.Raw.Offset)}
		n.table[string(key.Data)] = c
		r.nodes++
	}
	return c
}

// header returns the table of [a.b] or [[a.b]]. A part that names a list of tables is its last table.
func (r *tomlReader) header(e *unstable.Node) (n *node, offset int, ok bool) {
	n = r.root
	depth := 1
	for keys := e.Key(); keys.Next(); depth++ {
		offset = int(keys.Node().Raw.Offset)
		if r.exceeds(depth) {
			return nil, offset, false
		}
		n = r.child(n, keys.Node())
		if e.Kind == unstable.ArrayTable && keys.IsLast() {
			n.list = append(n.list, &node{key: offset, value: offset})
			r.nodes++
		}
		if len(n.list) > 0 {
			n = n.list[len(n.list)-1]
		}
		if n.table == nil {
			n.table = make(map[string]*node)
		}
	}
	return n, 0, true
}

// keyValue adds a key and its value to a table.
func (r *tomlReader) keyValue(n *node, e *unstable.Node, depth int) (offset int, ok bool) {
	for keys := e.Key(); keys.Next(); depth++ {
		key := keys.Node().Raw
		n = r.child(n, keys.Node())
		offset = int(key.Offset + key.Length)
	}
	offset += strings.IndexByte(r.text[offset:], '=') + 1
	n.value = r.skip(offset, " \t")
	return r.fill(n, e.Value(), depth)
}

// fill sets a node to a value and returns the offset of its end.
func (r *tomlReader) fill(n *node, v *unstable.Node, depth int) (end int, ok bool) {
	if r.exceeds(depth) {
		return n.value, false
	}
	const separators = " \t\r\n,"
	children := v.Children()
	end = n.value + 1
	switch v.Kind {
	case unstable.Array:
		n.list = []*node{}
		for children.Next() {
			start := r.skip(end, separators)
			item := &node{key: start, value: start}
			n.list = append(n.list, item)
			r.nodes++
			if end, ok = r.fill(item, children.Node(), depth+1); !ok {
				return end, false
			}
		}
	case unstable.InlineTable:
		n.table = make(map[string]*node)
		for children.Next() {
			if end, ok = r.keyValue(n, children.Node(), depth+1); !ok {
				return end, false
			}
		}
	default:
		n.scalar = scalar(v)
		return int(v.Raw.Offset + v.Raw.Length), true
	}
	return r.skip(end, separators) + 1, true
}

// skip returns the offset after bytes of the set and comments.
func (r *tomlReader) skip(offset int, set string) int {
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
		f, _ := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		return f
	}
	return date(text)
}

// lines has the offset of each line's first byte.
type lines []int

func newLines(text string) lines {
	l := lines{0}
	for i := range len(text) {
		if text[i] == '\n' {
			l = append(l, i+1)
		}
	}
	return l
}

// position returns the line and the column in bytes, both from 1.
func (l lines) position(offset int) (line, column int) {
	line = sort.SearchInts(l, offset+1)
	return line, offset - l[line-1] + 1
}

// offset returns the offset of a place.
func (l lines) offset(line, column int) int { return l[line-1] + column - 1 }

// place gives an error its place.
func (l lines) place(offset int, e *Error) *Error {
	e.Line, e.Column = l.position(offset)
	return e
}
