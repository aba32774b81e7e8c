package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/toml"
)

// spec says what the value of a key may be, in addition to the type of its field. Load checks values
// by it, and Schema describes it.
type spec struct {
	doc string

	// Of strings.
	enum    []string
	hints   map[string]string // of values that enum does not have
	pattern *lazyRegexp       // of the whole value
	wants   string            // the pattern in words
	filled  bool              // not empty; also of lists
	check   func(string) *Error
	resolve func(pathResolver, string) (string, *Error)
	secret  bool // messages never show the value

	// Of numbers: whole numbers, bytes or nanoseconds. There are no bounds if both are 0.
	minimum, maximum int64

	// Of lists.
	first   []string // values of the first element
	program bool     // the first element is a program

	// Of tables.
	names     *lazyRegexp // of the keys
	nameWants string      // names in words
	nameCheck func(string) *Error
	required  []string
	anyOf     []string // at least one of these keys
	oneOf     []string // exactly one of these keys
	schema    bool     // a JSON Schema
}

// text returns a string that the row allows.
func (s spec) text(n *toml.Node) (string, *Error) {
	v, ok := n.Scalar.(string)
	if !ok {
		e := mismatch("a string", n)
		if s.enum != nil {
			e.Hint = "write " + either(s.enum)
		}
		return "", e
	}
	shown := "the value"
	if !s.secret {
		shown = quote(v)
	}
	switch {
	case s.filled && strings.TrimSpace(v) == "":
		return "", newError("empty", "write a value or leave the key out")
	case s.enum != nil && !slices.Contains(s.enum, v):
		return "", s.unknownValue(v, shown)
	case s.pattern != nil && !s.pattern.MatchString(v):
		return "", newError(shown+" does not fit", "write "+s.wants)
	case s.check != nil:
		return v, s.check(v)
	}
	return v, nil
}

// isUnknown reports whether a value may be one of a newer version.
func (s spec) isUnknown(n *toml.Node) bool {
	v, ok := n.Scalar.(string)
	return ok && s.enum != nil && !slices.Contains(s.enum, v) && s.hints[v] == ""
}

func (s spec) unknownValue(v, shown string) *Error {
	if hint, ok := s.hints[v]; ok {
		return newError(shown+" is not allowed", hint)
	}
	hint := "write " + either(s.enum)
	if near := Nearest(v, s.enum); near != "" {
		hint = fmt.Sprintf("did you mean %q? It is one of %s", near, either(s.enum))
	}
	return newError(shown+" is not a known value", hint)
}

// number returns a whole number, a duration or a size within the bounds.
func (s spec) number(t reflect.Type, n *toml.Node) (int64, *Error) {
	var e *Error
	text, isText := n.Scalar.(string)
	i, isInt := n.Scalar.(int64)
	show := func(i int64) string { return strconv.FormatInt(i, 10) }
	switch t {
	case reflect.TypeFor[Duration]():
		show = func(i int64) string { return strconv.Quote(Duration(i).String()) }
		if !isText {
			return 0, mismatch(`a duration such as "2s"`, n)
		}
		var d Duration
		d, e = parseDuration(text)
		i = int64(d)
	case reflect.TypeFor[Size]():
		show = func(i int64) string { return strconv.Quote(Size(i).String()) }
		if isText {
			var size Size
			size, e = parseSize(text)
			i = int64(size)
		} else if !isInt {
			return 0, mismatch(`a size such as "64MiB"`, n)
		}
	default:
		if !isInt {
			return 0, mismatch("a whole number", n)
		}
	}
	switch {
	case e != nil || s.minimum == 0 && s.maximum == 0:
		return i, e
	case i < s.minimum:
		return 0, newError(show(i)+" is too small", "the minimum is "+show(s.minimum))
	case i > s.maximum:
		return 0, newError(show(i)+" is too large", "the maximum is "+show(s.maximum))
	}
	return i, nil
}

// checkFirst checks the first element of a list, and returns the path of a program.
func (s spec) checkFirst(paths pathResolver, v string) (string, *Error) {
	if s.first != nil && !slices.Contains(s.first, v) {
		return "", newError(quote(v)+" can't be first",
			"the first value replaces a forbidden one; put "+either(s.first)+" before it")
	}
	if s.program {
		return paths.command(v)
	}
	return v, nil
}

// checkName checks a key that the user chooses.
func (s spec) checkName(name string) *Error {
	if s.names != nil && !s.names.MatchString(name) {
		return newError(quote(name)+" is not a valid name", "use "+s.nameWants)
	}
	if s.nameCheck != nil {
		return s.nameCheck(name)
	}
	return nil
}

// checkKeys checks which keys a table has.
func (s spec) checkKeys(table map[string]*toml.Node) *Error {
	count := func(keys []string) (n int) {
		for _, key := range keys {
			if table[key] != nil {
				n++
			}
		}
		return n
	}
	for _, key := range s.required {
		if table[key] == nil {
			return newError("has no "+key, "add "+key+" = …")
		}
	}
	if s.anyOf != nil && count(s.anyOf) == 0 {
		return newError("matches nothing", "add at least one of "+either(s.anyOf))
	}
	if n := count(s.oneOf); s.oneOf != nil && n != 1 {
		return newError(fmt.Sprintf("has %d of %s", n, either(s.oneOf)), "give exactly one of them")
	}
	return nil
}
