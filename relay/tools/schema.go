package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSchema = 256 << 10 // bytes
	// maxDepth is how deep the JSON of a schema may go. A line that goes deeper than 128 is
	// dropped by Codex without a word, and the turn with it (measured with 0.169.0).
	maxDepth = 64
)

// schema is the schema of a tool's arguments.
type schema struct {
	offered  json.RawMessage // what Codex is told
	resolved *jsonschema.Resolved
}

// newSchema checks a schema. What is wrong with it is told by the error, by itself or by
// what it would be for Codex: that takes less than JSON Schema allows (measured with
// 0.169.0), and the model's provider takes arguments of type object only.
//
// The library is the one that costs nothing at the bridge's start; another compiles the
// schemas of all drafts then, which takes 3 ms. A schema takes this one 30 µs.
func newSchema(text json.RawMessage) (*schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("its schema has more than %d bytes", maxSchema)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, errors.New("its schema is no JSON")
	}
	if err := json.Unmarshal(text, new(any)); err != nil { // more than one value, or a number that Codex can't read either
		return nil, fmt.Errorf("its schema is no JSON: %w", err)
	}
	table, ok := root.(map[string]any)
	if !ok || table["type"] != "object" {
		return nil, errors.New(`its schema is not one of type "object"; arguments are always an object`)
	}
	if err := checkSchema(table, "", maxDepth); err != nil {
		return nil, err
	}
	resolved, err := compile(table)
	if err != nil {
		return nil, fmt.Errorf("its schema is not valid: %w", err)
	}
	return &schema{offered(table), resolved}, nil
}

// choices are refused by OpenAI's models at the root of a schema, and with them the whole
// turn.
var choices = []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else"}

// offered is the schema as Codex is told it: without the choices at its root, which
// still hold for the arguments. (The order of the keys Codex does not keep.)
func offered(table map[string]any) json.RawMessage {
	table = maps.Clone(table)
	for _, k := range choices {
		delete(table, k)
	}
	text, _ := json.Marshal(table) // of what was read
	return text
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkSchema checks what Codex reads of a schema. at is the place in it.
func checkSchema(v any, at string, depth int) error {
	wrong := func(key, want string) error { return fmt.Errorf("its schema has no %s at %s/%s", want, at, key) }
	if depth <= 0 {
		return fmt.Errorf("its schema is nested deeper than %d", maxDepth)
	}
	table, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok {
			return nil
		}
		return fmt.Errorf("its schema has no schema at %s", at)
	}
	for _, k := range slices.Sorted(maps.Keys(table)) {
		member := table[k]
		if member == nil && k != "items" && k != "additionalProperties" && k != "not" { // as servers in Go write a list of nothing
			continue
		}
		switch k {
		case "type":
			if !checkType(member) {
				return wrong(k, "type of JSON")
			}
		case "description", "$ref":
			if _, ok := member.(string); !ok {
				return wrong(k, "text")
			}
		case "required":
			list, ok := member.([]any)
			if !ok || slices.ContainsFunc(list, func(e any) bool { _, ok := e.(string); return !ok }) {
				return wrong(k, "list of names")
			}
		case "enum":
			if _, ok := member.([]any); !ok {
				return wrong(k, "list of values")
			}
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			members, ok := member.(map[string]any)
			if !ok {
				return wrong(k, "table of schemas")
			}
			for _, name := range slices.Sorted(maps.Keys(members)) {
				if err := checkSchema(members[name], at+"/"+k+"/"+name, depth-2); err != nil {
					return err
				}
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			list, ok := member.([]any)
			if !ok || len(list) == 0 {
				return wrong(k, "list of schemas")
			}
			for i, e := range list {
				if err := checkSchema(e, fmt.Sprintf("%s/%s/%d", at, k, i), depth-2); err != nil {
					return err
				}
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
			"additionalItems", "unevaluatedItems", "unevaluatedProperties":
			if err := checkSchema(member, at+"/"+k, depth-1); err != nil {
				return err
			}
		default:
			if !shallow(member, depth-1) {
				return fmt.Errorf("its schema is nested deeper than %d", maxDepth)
			}
		}
	}
	return nil
}

func checkType(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.Contains(typeNames, v)
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { name, ok := e.(string); return !ok || !slices.Contains(typeNames, name) })
	}
	return false
}

// shallow tells whether a value that is no schema is nested no deeper than depth.
func shallow(v any, depth int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if !shallow(e, depth-1) {
				return false
			}
		}
		return depth > 0
	case []any:
		return depth > 0 && !slices.ContainsFunc(v, func(e any) bool { return !shallow(e, depth-1) })
	}
	return true
}

var errElsewhere = errors.New("it refers to another document")

func compile(table map[string]any) (*jsonschema.Resolved, error) {
	plain, _ := known(table).(map[string]any)
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{
		Loader: func(*url.URL) (*jsonschema.Schema, error) { return nil, errElsewhere }, // neither disk nor network
	})
	if err != nil {
		return nil, err
	}
	return resolved, bounded(plain)
}

// known is a schema without what the library can't read and the model does not need
// checked: the name of an older draft, the bounds as an older draft writes them, patterns
// of another language's, references of which only the value tells where they lead.
func known(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = known(e)
		}
		return list
	case map[string]any:
		table := make(map[string]any, len(v))
		free := false
		for k, e := range v {
			if e == nil && k != "default" && k != "const" {
				continue
			}
			switch k {
			case "$schema", "$id", "id", "$dynamicRef", "$dynamicAnchor":
				if _, ok := e.(string); ok {
					continue
				}
			case "pattern":
				if text, ok := e.(string); ok && !goPattern(text) {
					continue
				}
			case "patternProperties":
				if patterns, ok := e.(map[string]any); ok && slices.ContainsFunc(slices.Collect(maps.Keys(patterns)), func(p string) bool { return !goPattern(p) }) {
					free = true
					continue
				}
			case "exclusiveMinimum", "exclusiveMaximum":
				if _, ok := e.(bool); ok {
					continue
				}
			case "default", "enum", "const", "examples":
				table[k] = e
				continue
			}
			table[k] = known(e)
		}
		if free {
			delete(table, "additionalProperties")
			delete(table, "unevaluatedProperties")
		}
		return table
	}
	return v
}

func goPattern(s string) bool {
	_, err := regexp.Compile(s)
	return err == nil
}

// check tells what is wrong with arguments; "" nothing. The model reads it.
func (s *schema) check(arguments json.RawMessage) string {
	var v any
	if err := json.Unmarshal(arguments, &v); err != nil {
		return "they are no JSON"
	}
	err := s.resolved.Validate(v)
	if err == nil {
		return ""
	}
	text := strings.ReplaceAll(err.Error(), "validating root: ", "")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "validating /properties/", "/"), "<anonymous schema>", "{…}")
	return first(text, 1000)
}
