package userrules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A rules file is a program in Starlark. Implementations of the language differ: len("é") is 1 for
// Codex, and 2 for others. So only files that every implementation reads in the same way are read:
// calls with literal texts and lists, one after the other.
//
//	file     = { [ call ] [ comment ] NEWLINE }
//	call     = name "(" [ argument { "," argument } [ "," ] ] ")"
//	argument = [ name "=" ] value
//	value    = text | "[" [ value { "," value } [ "," ] ] "]"
//	text     = '"' { char | escape } '"' | "'" { char | escape } "'"
//	escape   = `\\` | `\"` | `\'` | `\n` | `\r` | `\t` | `\u` and four hexadecimal digits
//
// Within brackets, lines may end and comments stand anywhere.

// call is a call of a rules file.
type call struct {
	name      string
	line      int
	arguments []argument
}

type argument struct {
	name  string // "" if the value has none
	value value
}

// value is a text or a list.
type value struct {
	isList bool
	text   string
	list   []value
}

// notPlain is why a file is outside the grammar. Codex may read it, so its rules are unknown.
type notPlain string

func (e notPlain) Error() string {
	return string(e) + "; write each rule as a call with plain texts, such as prefix_rule(pattern=[\"git\", \"status\"], decision=\"allow\")"
}

// errCutOff is of a file that no implementation reads: it ends within a call, as while it is written.
var errCutOff = errors.New("the file ends within a call")

// maxDepth is the maximum depth of lists; those of match have a depth of 2.
const maxDepth = 8

type parser struct {
	text string
	at   int
	line int
}

// parse returns the calls of a rules file.
func parse(text []byte) (calls []call, err error) {
	whole := strings.ReplaceAll(string(text), "\r\n", "\n")
	p := &parser{text: withoutCutCharacter(whole), line: 1}
	err = checkCharacters(p.text)
	for err == nil {
		p.skip("\n")
		if p.at == len(p.text) {
			break
		}
		var c call
		if c, err = p.call(); err == nil {
			calls = append(calls, c)
			err = p.endLine()
		}
	}
	if err == nil {
		err = checkCharacters(whole) // the end is not cut off, but wrong
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return calls, nil
}

// withoutCutCharacter returns text without a line end or a character of UTF-8 at its end of which only the start is
// there. No implementation reads a file that is cut off in a call.
func withoutCutCharacter(text string) string {
	if rest, ok := strings.CutSuffix(text, "\r"); ok {
		return rest
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if end := text[len(text)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRuneInString(end) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

func checkCharacters(text string) error {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return notPlain("it has a control character")
		}
	}
	if !utf8.ValidString(text) {
		return notPlain("it is not UTF-8")
	}
	return nil
}

// skip skips blanks, comments, and the characters in also.
func (p *parser) skip(also string) {
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
			continue
		case c != ' ' && c != '\t' && strings.IndexByte(also, c) < 0:
			return
		case c == '\n':
			p.line++
		}
		p.at++
	}
}

// take reads the token c, and line ends and comments before it. It reports whether c comes next.
func (p *parser) take(c byte) bool {
	p.skip("\n")
	if p.at == len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

// unexpected returns the error for the next token, which fits no call.
func (p *parser) unexpected() error {
	if p.at == len(p.text) {
		return errCutOff
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return notPlain(fmt.Sprintf("unexpected %q", r))
}

func (p *parser) endLine() error {
	p.skip("")
	if p.at < len(p.text) && p.text[p.at] != '\n' {
		return p.unexpected()
	}
	return nil
}

func (p *parser) name() string {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] == '_' || 'a' <= p.text[p.at] && p.text[p.at] <= 'z') {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) call() (c call, err error) {
	c = call{name: p.name(), line: p.line}
	p.skip("")
	switch {
	case c.name == "":
		return c, p.unexpected()
	case p.at == len(p.text) && !isCutName(c.name):
		return c, notPlain("it ends with " + c.name + ", which it does not call")
	case p.at == len(p.text) || p.text[p.at] != '(':
		return c, p.unexpected()
	}
	p.at++
	for {
		if p.take(')') {
			return c, nil
		}
		a := argument{name: p.name()}
		if a.name != "" && !p.take('=') {
			return c, p.unexpected()
		}
		if a.value, err = p.value(maxDepth); err != nil {
			return c, err
		}
		if a.name == "" && len(c.arguments) > 0 && c.arguments[len(c.arguments)-1].name != "" {
			return c, notPlain("a value without a name is behind one with a name")
		}
		c.arguments = append(c.arguments, a)
		if !p.take(',') {
			if p.take(')') {
				return c, nil
			}
			return c, p.unexpected()
		}
	}
}

// isCutName reports whether a name is the start of a function's. Other names, also whole ones, may have a value: then
// a file that ends with one is complete.
func isCutName(name string) bool {
	for function := range parameters {
		if strings.HasPrefix(function, name) && function != name {
			return true
		}
	}
	return false
}

// value reads a text or a list with at most depth lists in each other.
func (p *parser) value(depth int) (v value, err error) {
	if !p.take('[') {
		v.text, err = p.quoted()
		return v, err
	}
	if depth == 0 {
		return v, notPlain("a list is too deep")
	}
	v.isList = true
	for {
		if p.take(']') {
			return v, nil
		}
		one, err := p.value(depth - 1)
		if err != nil {
			return v, err
		}
		v.list = append(v.list, one)
		if !p.take(',') {
			if p.take(']') {
				return v, nil
			}
			return v, p.unexpected()
		}
	}
}

// quoted reads a text in quotes.
func (p *parser) quoted() (string, error) {
	if p.at == len(p.text) || p.text[p.at] != '"' && p.text[p.at] != '\'' {
		return "", p.unexpected()
	}
	quote := p.text[p.at]
	if strings.HasPrefix(p.text[p.at:], strings.Repeat(string(quote), 3)) {
		return "", notPlain("a text has three quotes")
	}
	var b strings.Builder
	for p.at++; p.at < len(p.text); {
		switch c := p.text[p.at]; c {
		case quote:
			p.at++
			return b.String(), nil
		case '\n':
			return "", notPlain("a text does not end on its line")
		case '\\':
			r, length := unescape(p.text[p.at:])
			if length == 0 {
				if strings.IndexByte(p.text[p.at:], quote) < 0 {
					return "", errCutOff // in each implementation: the text has no end
				}
				return "", notPlain("a text has another escape than \\\\ \\\" \\' \\n \\r \\t \\uXXXX")
			}
			b.WriteRune(r)
			p.at += length
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return "", errCutOff
}

// unescape returns the character of the escape at the start of text, and the length of the escape; 0
// if it is none of the grammar.
func unescape(text string) (r rune, length int) {
	if len(text) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`\"'nrt`, text[1]); i >= 0 {
		return rune("\\\"'\n\r\t"[i]), 2
	}
	if text[1] != 'u' || len(text) < 6 {
		return 0, 0
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return 0, 0
	}
	return rune(n), 6
}
