package rpc

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// MaxDepth is the maximum depth of arrays and objects in a client's message. Measured
	// with Codex 0.169.0: it takes 127, and drops a message with 128 without a reply (the
	// recursion limit of serde_json).
	MaxDepth = 127
	// maxMembers is the maximum number of members of an object and those around it. It
	// bounds the memory of the search for duplicate keys to 1.5 MiB.
	maxMembers = 1 << 16
	// maxNodes is how many values a Doc keeps of a client's text: 4 MiB. A longer text is
	// still checked to its end, and is Truncated.
	maxNodes = 1 << 17
	// maxCodexNodes is maxNodes for messages from Codex: 128 MiB. The response to a resume
	// holds the history of the thread.
	maxCodexNodes = 1 << 22
	// maxCompared is how many keys of an object are compared one by one. The keys of a
	// larger object are sorted at its end.
	maxCompared = 24
	// privatePrefix starts the keys with which serde_json encodes special values. Measured
	// with Codex 0.169.0: it takes {"$serde_json::private::RawValue":"\"never\""} for
	// "never", and …::Number for a number. The policy would see an object.
	privatePrefix = "$serde_json::private::"
)

// syntaxError is a problem in a text and its offset in bytes.
type syntaxError struct {
	offset  int
	problem string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.problem, e.offset+1) }

// frame is an open array or object.
type frame struct {
	node   uint32 // its node, if kept
	kept   bool
	object bool
	keys   int // where its keys start in parser.keys
}

// parser checks one JSON text and keeps its nodes. It is iterative, so the depth of a
// text costs no stack.
type parser struct {
	doc  Doc
	pos  int
	deep bool // keep also nodes below the members of the outermost object
	// maxDepth is MaxDepth for a client's message.
	maxDepth int
	maxNodes int
	// lenient ignores faults that do not hinder finding the end of a value. With it an
	// invalid text is parsed again, to find the id to reply to.
	lenient bool

	stack []frame
	keys  [][]byte // of the open objects, unescaped
	// Key of the next value, if it is a member.
	keyStart, keyEnd uint32
	keyEscaped       bool
}

func (p *parser) reset(text []byte, deep bool, maxDepth int) {
	p.doc.text, p.doc.nodes, p.doc.truncated = text, p.doc.nodes[:0], false
	p.pos, p.deep, p.maxDepth, p.lenient = 0, deep, maxDepth, false
	p.maxNodes = maxNodes
	p.stack, p.keys = p.stack[:0], p.keys[:0]
	p.keyStart, p.keyEnd, p.keyEscaped = 0, 0, false
}

func (p *parser) fail(problem string) error { return &syntaxError{p.pos, problem} }

// failUnlessLenient returns the error for a fault that a lenient parse ignores.
func (p *parser) failUnlessLenient(pos int, problem string) error {
	if p.lenient {
		return nil
	}
	return &syntaxError{pos, problem}
}

func (p *parser) skipSpace() {
	for p.pos < len(p.doc.text) {
		switch p.doc.text[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end. A NUL byte is an error wherever peek is used.
func (p *parser) peek() byte {
	if p.pos < len(p.doc.text) {
		return p.doc.text[p.pos]
	}
	return 0
}

// parse checks the whole text: one value and white space around it.
func (p *parser) parse() error {
	if uint64(len(p.doc.text)) > math.MaxUint32 { // nodes count in 32 bits
		return p.fail("more than 4 GiB")
	}
	for {
		opened, err := p.parseValue()
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		// Close all arrays and objects that end here.
		for {
			p.skipSpace()
			if len(p.stack) == 0 {
				if p.pos < len(p.doc.text) {
					return p.fail("text after the end of the message")
				}
				return nil
			}
			f := &p.stack[len(p.stack)-1]
			c := p.peek()
			if c == ',' {
				p.pos++
				if f.object {
					if err := p.parseKey(); err != nil {
						return err
					}
				}
				break
			}
			if (f.object && c != '}') || (!f.object && c != ']') {
				return p.unexpected("a comma or the end of the list of values")
			}
			if err := p.close(); err != nil {
				return err
			}
		}
	}
}

// parseValue reads a value. opened reports that it is a non-empty array or object, whose
// first value is next.
func (p *parser) parseValue() (opened bool, err error) {
	p.skipSpace()
	switch c := p.peek(); c {
	case '{', '[':
		if len(p.stack) == p.maxDepth {
			return false, p.fail(fmt.Sprintf("nested deeper than %d arrays and objects", p.maxDepth))
		}
		kind := Array
		if c == '{' {
			kind = Object
		}
		i, kept := p.addNode(kind)
		p.stack = append(p.stack, frame{node: i, kept: kept, object: c == '{', keys: len(p.keys)})
		p.pos++
		p.skipSpace()
		if n := p.peek(); (c == '{' && n == '}') || (c == '[' && n == ']') {
			return false, p.close()
		}
		if c == '{' {
			err = p.parseKey()
		}
		return true, err
	case '"':
		i, kept := p.addNode(String)
		p.pos++
		if _, err := p.parseString(); err != nil {
			return false, err
		}
		p.endNode(i, kept)
		return false, nil
	case 't':
		return false, p.parseLiteral("true", Bool)
	case 'f':
		return false, p.parseLiteral("false", Bool)
	case 'n':
		return false, p.parseLiteral("null", Null)
	default:
		return false, p.parseNumber()
	}
}

// addNode keeps a node for the value that starts here, if it is wanted.
func (p *parser) addNode(kind Kind) (index uint32, kept bool) {
	n := node{start: uint32(p.pos), kind: kind, keyStart: p.keyStart, keyEnd: p.keyEnd, keyEscaped: p.keyEscaped}
	p.keyStart, p.keyEnd, p.keyEscaped = 0, 0, false
	if len(p.stack) > 1 && (!p.deep || p.doc.truncated) {
		return 0, false
	}
	if len(p.doc.nodes) >= p.maxNodes {
		p.doc.truncated = true
		if len(p.stack) > 1 || len(p.doc.nodes) >= p.maxNodes+maxMembers {
			return 0, false
		}
	}
	p.doc.nodes = append(p.doc.nodes, n)
	return uint32(len(p.doc.nodes) - 1), true
}

func (p *parser) endNode(i uint32, kept bool) {
	if kept {
		p.doc.nodes[i].end = uint32(p.pos)
		p.doc.nodes[i].skip = uint32(len(p.doc.nodes))
	}
}

// close ends the innermost array or object. The next byte is its bracket.
func (p *parser) close() error {
	f := p.stack[len(p.stack)-1]
	p.pos++
	if f.object {
		if own := p.keys[f.keys:]; len(own) > maxCompared {
			slices.SortFunc(own, bytes.Compare)
			for i := 1; i < len(own); i++ {
				if bytes.Equal(own[i-1], own[i]) {
					return p.duplicateKey(p.pos, own[i])
				}
			}
		}
		p.keys = p.keys[:f.keys]
	}
	p.stack = p.stack[:len(p.stack)-1]
	p.endNode(f.node, f.kept)
	return nil
}

// parseKey reads the key of a member and the colon after it.
func (p *parser) parseKey() error {
	p.skipSpace()
	if p.peek() != '"' {
		return p.unexpected("a key in double quotes")
	}
	p.pos++
	start := p.pos
	escaped, err := p.parseString()
	if err != nil {
		return err
	}
	end := p.pos - 1
	if !p.lenient {
		if err := p.checkKey(start, end, escaped); err != nil {
			return err
		}
	}
	p.skipSpace()
	if p.peek() != ':' {
		return p.unexpected("a colon")
	}
	p.pos++
	p.keyStart, p.keyEnd, p.keyEscaped = uint32(start), uint32(end), escaped
	return nil
}

// checkKey compares the key of a member with the others of its object.
func (p *parser) checkKey(start, end int, escaped bool) error {
	name := p.doc.text[start:end]
	if escaped {
		name = []byte(unquote(name))
	}
	if len(name) > 0 && name[0] == '$' && bytes.HasPrefix(name, []byte(privatePrefix)) {
		return &syntaxError{start, "a key that starts with " + privatePrefix}
	}
	if len(p.keys) == maxMembers {
		return p.fail(fmt.Sprintf("more than %d members in an object and those around it", maxMembers))
	}
	own := p.keys[p.stack[len(p.stack)-1].keys:]
	if len(own) < maxCompared {
		for _, other := range own {
			if bytes.Equal(other, name) {
				return p.duplicateKey(start, name)
			}
		}
	}
	p.keys = append(p.keys, name)
	return nil
}

func (p *parser) duplicateKey(pos int, name []byte) error {
	return &syntaxError{pos, fmt.Sprintf("duplicate key %s", quoteStart(name))}
}

// parseString reads a string after its opening quote, with its closing quote.
func (p *parser) parseString() (escaped bool, err error) {
	b := p.doc.text
	for {
		p.pos += plainLen(b[p.pos:])
		if p.pos >= len(b) {
			return false, p.fail("the text ends inside a string")
		}
		switch c := b[p.pos]; {
		case c == '"':
			p.pos++
			return escaped, nil
		case c == '\\':
			escaped = true
			if err := p.parseEscape(); err != nil {
				return false, err
			}
		case c < 0x20:
			if err := p.failUnlessLenient(p.pos, "a control character inside a string (write it as an escape)"); err != nil {
				return false, err
			}
			p.pos++
		default:
			r, n := utf8.DecodeRune(b[p.pos:])
			if r == utf8.RuneError && n <= 1 {
				if err := p.failUnlessLenient(p.pos, "a byte that is not UTF-8"); err != nil {
					return false, err
				}
			}
			p.pos += n
		}
	}
}

// parseEscape reads one escape. Half a surrogate pair is an error: Codex drops the message.
func (p *parser) parseEscape() error {
	b := p.doc.text[p.pos:]
	if len(b) < 2 {
		return p.fail("the text ends inside a string")
	}
	n, problem := 2, ""
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		switch r := hex4(b[2:]); {
		case r < 0:
			problem = "a broken \\u escape"
		case !utf16.IsSurrogate(r):
			n = 6
		case surrogatePair(b) < 0:
			problem = "half a surrogate pair"
		default:
			n = 12
		}
	default:
		problem = "an unknown escape"
	}
	if problem != "" {
		if err := p.failUnlessLenient(p.pos, problem); err != nil {
			return err
		}
	}
	p.pos += n
	return nil
}

func (p *parser) parseLiteral(word string, kind Kind) error {
	i, kept := p.addNode(kind)
	if !bytes.HasPrefix(p.doc.text[p.pos:], []byte(word)) {
		return p.unexpected("a value")
	}
	p.pos += len(word)
	p.endNode(i, kept)
	return nil
}

func (p *parser) parseNumber() error {
	if c := p.peek(); c != '-' && (c < '0' || c > '9') {
		return p.unexpected("a value")
	}
	i, kept := p.addNode(Number)
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.skipDigits() {
		return p.unexpected("a digit")
	}
	if p.peek() == '.' {
		p.pos++
		if !p.skipDigits() {
			return p.unexpected("a digit")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.skipDigits() {
			return p.unexpected("a digit")
		}
	}
	p.endNode(i, kept)
	return nil
}

func (p *parser) skipDigits() bool {
	from := p.pos
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > from
}

func (p *parser) unexpected(want string) error {
	if p.pos >= len(p.doc.text) {
		return p.fail("the text ends; expected " + want)
	}
	return p.fail(fmt.Sprintf("unexpected %q; expected %s", p.doc.text[p.pos], want))
}

// quoteStart returns the start of a client's text, quoted for an error message.
func quoteStart(text []byte) string {
	if len(text) > 40 {
		text = append(bytes.Clone(text[:40]), "..."...)
	}
	return fmt.Sprintf("%q", text)
}
