package tools

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// maxEffort is how many schemas a value may be held against before what is in it is looked
// at: lists of references to lists of references make 2^n of n lines.
const maxEffort = 10_000

// maxChain is how many of them may stand behind each other: all are on the stack at once, for
// each level of the value.
const maxChain = 100

// errEndless is a schema whose check would not come to an end, and take the bridge with it:
// no Go program survives a stack that is full.
var errEndless = errors.New("it refers to itself without end")

// effort measures what it takes to check a value. It knows schemas by their place in memory.
type effort struct {
	root    any
	anchors map[string]any
	done    map[uintptr]measure // zero: it is being measured
}

// measure is how many schemas a value is held against, one among them, and how many at most
// behind each other.
type measure struct{ all, chain int }

// bounded tells why a schema can't be used, if that is so.
func bounded(root map[string]any) error {
	e := &effort{root: root, anchors: map[string]any{}, done: map[uintptr]measure{}}
	_ = each(root, func(schema map[string]any) error {
		if name, ok := schema["$anchor"].(string); ok {
			e.anchors[name] = schema
		}
		return nil
	})
	return each(root, func(schema map[string]any) error {
		_, err := e.of(schema)
		return err
	})
}

// each visits all objects, until one is wrong. Those that are no schemas do no harm.
func each(v any, visit func(map[string]any) error) error {
	switch v := v.(type) {
	case map[string]any:
		if err := visit(v); err != nil {
			return err
		}
		for key, member := range v {
			if isValue(key) {
				continue
			}
			if err := each(member, visit); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range v {
			if err := each(element, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// isValue tells whether a member of a schema is none.
func isValue(key string) bool {
	return key == "default" || key == "enum" || key == "const" || key == "examples"
}

// of measures a schema.
func (e *effort) of(v any) (m measure, err error) {
	schema, ok := v.(map[string]any)
	if !ok {
		return measure{1, 1}, nil
	}
	place := reflect.ValueOf(schema).Pointer()
	if m, seen := e.done[place]; seen {
		if m.all == 0 {
			return m, errEndless
		}
		return m, nil
	}
	e.done[place] = m
	m = measure{1, 1}
	for _, next := range e.beside(schema) {
		n, err := e.of(next)
		if err != nil {
			return m, err
		}
		m.all, m.chain = m.all+n.all, max(m.chain, 1+n.chain)
		switch {
		case m.all > maxEffort:
			return m, fmt.Errorf("it holds one value against more than %d others", maxEffort)
		case m.chain > maxChain:
			return m, fmt.Errorf("more than %d of its parts lead from one to another", maxChain)
		}
	}
	e.done[place] = m
	return m, nil
}

// beside are the schemas that the same value is held against.
func (e *effort) beside(schema map[string]any) (all []any) {
	for key, member := range schema {
		switch key {
		case "$ref":
			if ref, ok := member.(string); ok {
				all = append(all, e.target(ref))
			}
		case "allOf", "anyOf", "oneOf":
			list, _ := member.([]any)
			all = append(all, list...)
		case "not", "if", "then", "else":
			all = append(all, member)
		case "dependentSchemas", "dependencies":
			members, _ := member.(map[string]any)
			for _, one := range members {
				all = append(all, one)
			}
		}
	}
	return all
}

// target is what a reference leads to; nil where that is not here, or nothing.
func (e *effort) target(ref string) any {
	ref, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return nil
	}
	if ref != "" && ref[0] != '/' {
		return e.anchors[ref]
	}
	at := e.root
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "/"), "/") {
		if ref == "" {
			break
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(v) {
				return nil
			}
			at = v[n]
		default:
			return nil
		}
	}
	return at
}
