package config

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// node is the place of a key, or of an element of a list, and what is below
// it. The library that parses the TOML knows the values but not where they
// stand, so locate walks the same text a second time for the places.
type node struct {
	at    int // offset of the key; of the value for elements of a list
	value int // offset of the value; of the key for tables made by a header
	keys  map[string]*node
	items []*node
}

// maxDepth bounds nesting. The parser recurses and is quadratic in the depth,
// and a workspace file is not the user's own: 200 KB of opening brackets must
// not cost minutes.
const maxDepth = 64

var errDepth = fmt.Errorf("nested more than %d deep", maxDepth)

// errTwice means that a key is given a value after it has one already, which
// the parser misses where the second is a list.
var errTwice = errors.New("key has already been defined")

// errLost means that the text is not TOML, which the parser says better.
var errLost = errors.New("not TOML")

// locate returns the places of all keys of a TOML document. Of text that the
// parser refuses it may return anything; offset is where it gave up.
func locate(src string) (root *node, offset int, err error) {
	s := &scanner{src: src}
	root = &node{}
	err = s.document(root)
	return root, s.i, err
}

// child returns the node of a key, made at the offset of its first mention.
func (n *node) child(key string, at int) *node {
	if c := n.keys[key]; c != nil {
		return c
	}
	if n.keys == nil {
		n.keys = make(map[string]*node)
	}
	c := &node{at: at, value: at}
	n.keys[key] = c
	return c
}

// get is child without making one; it may be called on nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	return n.keys[key]
}

// item returns the node of an element, or nil.
func (n *node) item(i int) *node {
	if n == nil || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

// open follows a [a.b] or [[a.b]] header. A part that names an array of tables
// means its last element.
func (n *node) open(path []part, array bool) *node {
	for i, p := range path {
		n = n.child(p.text, p.at)
		if array && i == len(path)-1 {
			n.items = append(n.items, &node{at: p.at, value: p.at})
		}
		if len(n.items) > 0 {
			n = n.items[len(n.items)-1]
		}
	}
	return n
}

// part is one part of a dotted key.
type part struct {
	text string
	at   int
}

type scanner struct {
	src string
	i   int
}

func (s *scanner) peek() byte {
	if s.i < len(s.src) {
		return s.src[s.i]
	}
	return 0
}

// take skips a wanted byte.
func (s *scanner) take(want byte) error {
	if s.peek() != want {
		return errLost
	}
	s.i++
	return nil
}

func (s *scanner) spaces() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.i++
	}
}

// blank skips spaces, newlines and comments.
func (s *scanner) blank() {
	for s.i < len(s.src) {
		switch s.src[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		case '#':
			s.line()
		default:
			return
		}
	}
}

// line skips to the next newline.
func (s *scanner) line() {
	n := strings.IndexByte(s.src[s.i:], '\n')
	if n < 0 {
		n = len(s.src) - s.i
	}
	s.i += n
}

func (s *scanner) document(root *node) error {
	current := root
	for {
		s.blank()
		if s.i >= len(s.src) {
			return nil
		}
		if s.peek() != '[' {
			if err := s.pair(current, 0); err != nil {
				return err
			}
			continue
		}
		array := strings.HasPrefix(s.src[s.i:], "[[")
		s.i++
		if array {
			s.i++
		}
		path, err := s.key()
		if err == nil {
			err = s.take(']')
		}
		if err == nil && array {
			err = s.take(']')
		}
		if err != nil {
			return err
		}
		current = root.open(path, array)
	}
}

// pair reads "key = value".
func (s *scanner) pair(n *node, depth int) error {
	path, err := s.key()
	if err != nil {
		return err
	}
	if err := s.take('='); err != nil {
		return err
	}
	if depth+len(path) > maxDepth {
		return errDepth
	}
	for i, p := range path {
		if i == len(path)-1 && n.keys[p.text] != nil {
			s.i = p.at
			return errTwice
		}
		n = n.child(p.text, p.at)
	}
	s.spaces()
	n.value = s.i
	return s.val(n, depth+len(path))
}

// key reads a dotted key and the spaces around its parts.
func (s *scanner) key() ([]part, error) {
	var path []part
	for {
		s.spaces()
		p, err := s.part()
		if err != nil {
			return nil, err
		}
		if path = append(path, p); len(path) > maxDepth {
			return nil, errDepth
		}
		s.spaces()
		if s.peek() != '.' {
			return path, nil
		}
		s.i++
	}
}

func (s *scanner) part() (part, error) {
	start := s.i
	switch s.peek() {
	case '"', '\'':
		if err := s.str(); err != nil {
			return part{}, err
		}
		raw := s.src[start+1 : s.i-1]
		if s.src[start] == '\'' {
			return part{raw, start}, nil
		}
		text, err := unescape(raw)
		return part{text, start}, err
	}
	for s.i < len(s.src) && bareChar(s.src[s.i]) {
		s.i++
	}
	if s.i == start {
		return part{}, errLost
	}
	return part{s.src[start:s.i], start}, nil
}

func bareChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// val skips a value, noting the places inside lists and inline tables.
func (s *scanner) val(n *node, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	switch s.peek() {
	case '"', '\'':
		return s.str()
	case '[':
		s.i++
		return s.series(']', func() error {
			item := &node{at: s.i, value: s.i}
			n.items = append(n.items, item)
			return s.val(item, depth+1)
		})
	case '{':
		s.i++
		return s.series('}', func() error { return s.pair(n, depth+1) })
	}
	// Numbers, booleans, dates. A date may hold a space; none of them holds
	// what can follow a value.
	for s.i < len(s.src) && strings.IndexByte(",]}#\r\n", s.src[s.i]) < 0 {
		s.i++
	}
	return nil
}

// series reads elements with commas between them up to the closing bracket.
func (s *scanner) series(end byte, element func() error) error {
	for {
		s.blank()
		if s.peek() == end {
			s.i++
			return nil
		}
		if err := element(); err != nil {
			return err
		}
		s.blank()
		if s.peek() == ',' {
			s.i++
		} else if s.peek() != end {
			return errLost
		}
	}
}

// str skips a string of any of the four kinds.
func (s *scanner) str() error {
	quote := s.src[s.i]
	triple := strings.Repeat(string(quote), 3)
	multi := strings.HasPrefix(s.src[s.i:], triple)
	if multi {
		s.i += 3
	} else {
		s.i++
	}
	for s.i < len(s.src) {
		c := s.src[s.i]
		switch {
		case c == '\\' && quote == '"':
			s.i += 2
		case c == quote && !multi:
			s.i++
			return nil
		case c == quote && strings.HasPrefix(s.src[s.i:], triple):
			s.i += 3
			// Up to two more quotes belong to the string's end.
			for n := 0; n < 2 && s.peek() == quote; n++ {
				s.i++
			}
			return nil
		case c == '\n' && !multi:
			return errLost
		default:
			s.i++
		}
	}
	s.i = len(s.src)
	return errLost
}

// unescape reads the escapes of a quoted key.
func unescape(raw string) (string, error) {
	if !strings.Contains(raw, `\`) {
		return raw, nil
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			b.WriteByte(raw[i])
			continue
		}
		if i++; i >= len(raw) {
			return "", errLost
		}
		digits := 0
		switch raw[i] {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'e':
			b.WriteByte(0x1b)
		case '"', '\\':
			b.WriteByte(raw[i])
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			return "", errLost
		}
		if digits == 0 {
			continue
		}
		if i+digits >= len(raw) {
			return "", errLost
		}
		r, err := strconv.ParseUint(raw[i+1:i+1+digits], 16, 32)
		if err != nil {
			return "", errLost
		}
		b.WriteRune(rune(r))
		i += digits
	}
	return b.String(), nil
}

// lines turns offsets into lines and columns.
type lines []int // offset of each line's first byte

func newLines(src string) lines {
	l := lines{0}
	for i := 0; i < len(src); i++ {
		if src[i] == '\n' {
			l = append(l, i+1)
		}
	}
	return l
}

// place returns the line and the column in bytes, both from 1.
func (l lines) place(offset int) (line, column int) {
	line = sort.SearchInts(l, offset+1)
	return line, offset - l[line-1] + 1
}
