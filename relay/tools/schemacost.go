package tools

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// maxTotalCost is how many schemas may apply to one value. Lists of references to lists of
// references make 2^n of n lines.
const maxTotalCost = 10_000

// maxRefDepth is how many of them may be nested by reference. All are on the stack at once,
// at each level of the value.
const maxRefDepth = 100

// errRecursive rejects a schema whose check would not end. A stack overflow would end the
// bridge.
var errRecursive = errors.New("it refers to itself endlessly")

// costMeter computes the cost of checking a value. It identifies schemas by address.
type costMeter struct {
	root    any
	anchors map[string]any
	costs   map[uintptr]schemaCost // by address; zero while it is computed
}

// schemaCost is how many schemas apply to a value, itself included, and how deeply they are
// nested by reference.
type schemaCost struct{ total, depth int }

// checkCost returns an error if the schema costs too much to check.
func checkCost(root map[string]any) error {
	e := &costMeter{root: root, anchors: map[string]any{}, costs: map[uintptr]schemaCost{}}
	_ = visitObjects(root, func(schema map[string]any) error {
		if name, ok := schema["$anchor"].(string); ok {
			e.anchors[name] = schema
		}
		return nil
	})
	return visitObjects(root, func(schema map[string]any) error {
		_, err := e.cost(schema)
		return err
	})
}

// visitObjects calls visit for all objects until it returns an error. Objects that are not
// schemas do no harm.
func visitObjects(v any, visit func(map[string]any) error) error {
	switch v := v.(type) {
	case map[string]any:
		if err := visit(v); err != nil {
			return err
		}
		for key, member := range v {
			if isValueKeyword(key) {
				continue
			}
			if err := visitObjects(member, visit); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range v {
			if err := visitObjects(element, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// isValueKeyword reports whether a keyword's value is not a schema.
func isValueKeyword(key string) bool {
	return key == "default" || key == "enum" || key == "const" || key == "examples"
}

// cost computes the cost of a schema.
func (e *costMeter) cost(v any) (m schemaCost, err error) {
	schema, ok := v.(map[string]any)
	if !ok {
		return schemaCost{1, 1}, nil
	}
	place := reflect.ValueOf(schema).Pointer()
	if m, seen := e.costs[place]; seen {
		if m.total == 0 {
			return m, errRecursive
		}
		return m, nil
	}
	e.costs[place] = m
	m = schemaCost{1, 1}
	for _, next := range e.sameValueSchemas(schema) {
		n, err := e.cost(next)
		if err != nil {
			return m, err
		}
		m.total, m.depth = m.total+n.total, max(m.depth, 1+n.depth)
		switch {
		case m.total > maxTotalCost:
			return m, fmt.Errorf("it checks one value against more than %d schemas", maxTotalCost)
		case m.depth > maxRefDepth:
			return m, fmt.Errorf("its references are nested more than %d deep", maxRefDepth)
		}
	}
	e.costs[place] = m
	return m, nil
}

// sameValueSchemas returns the subschemas that apply to the same value.
func (e *costMeter) sameValueSchemas(schema map[string]any) (all []any) {
	for key, member := range schema {
		switch key {
		case "$ref":
			if ref, ok := member.(string); ok {
				all = append(all, e.resolveRef(ref))
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

// resolveRef returns the target of a reference; nil if it is elsewhere or missing.
func (e *costMeter) resolveRef(ref string) any {
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
