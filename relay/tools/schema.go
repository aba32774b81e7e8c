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
	// maxDepth is the maximum nesting of a schema's JSON. Codex silently drops a line
	// nested deeper than 128, and with it the turn (measured with 0.169.0).
	maxDepth = 64
)

// schema is the schema of a tool's arguments.
type schema struct {
	offered  json.RawMessage // the schema that Codex gets
	resolved *jsonschema.Resolved
}

// newSchema parses and checks a schema. Codex accepts less than JSON Schema allows
// (measured with 0.169.0), and the model's provider only arguments of type object.
//
// This library costs nothing at the bridge's start; another one compiles the schemas of all
// drafts then, which takes 3 ms. Compiling a schema takes about 30 µs.
func newSchema(text json.RawMessage) (*schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("its schema has more than %d bytes", maxSchema)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, errors.New("its schema is not JSON")
	}
	if err := json.Unmarshal(text, new(any)); err != nil { // several values, or a number that Codex can't read
		return nil, fmt.Errorf("its schema is not JSON: %w", err)
	}
	table, ok := root.(map[string]any)
	if !ok || table["type"] != "object" {
		return nil, errors.New(`its schema must have the type "object", because arguments are an object`)
	}
	if err := checkSchema(table, "", maxDepth); err != nil {
		return nil, err
	}
	resolved, err := compile(table)
	if err != nil {
		return nil, fmt.Errorf("its schema is not valid: %w", err)
	}
	return &schema{schemaForCodex(table), resolved}, nil
}

// rootKeywords are rejected by OpenAI's models at the root of a schema, and the whole turn
// with them.
var rootKeywords = []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else"}

// schemaForCodex returns the schema without the rootKeywords. The bridge still checks
// arguments against them. Codex does not keep the order of keys.
func schemaForCodex(table map[string]any) json.RawMessage {
	table = maps.Clone(table)
	for _, k := range rootKeywords {
		delete(table, k)
	}
	text, _ := json.Marshal(table)
	return text
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkSchema checks the parts of a schema that Codex reads. at is the JSON pointer of v.
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
		if member == nil && k != "items" && k != "additionalProperties" && k != "not" { // servers written in Go encode an empty list so
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
			if !isShallow(member, depth-1) {
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

// isShallow reports whether a value that is not a schema is nested no deeper than depth.
func isShallow(v any, depth int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if !isShallow(e, depth-1) {
				return false
			}
		}
		return depth > 0
	case []any:
		return depth > 0 && !slices.ContainsFunc(v, func(e any) bool { return !isShallow(e, depth-1) })
	}
	return true
}

var errOtherDocument = errors.New("it refers to another document")

func compile(table map[string]any) (*jsonschema.Resolved, error) {
	plain, _ := supportedSchema(table).(map[string]any)
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{
		Loader: func(*url.URL) (*jsonschema.Schema, error) { return nil, errOtherDocument }, // no disk or network access
	})
	if err != nil {
		return nil, err
	}
	return resolved, checkCost(plain)
}

// supportedSchema returns a schema without keywords that the library can't read and that
// need not be checked: the draft's name, boolean bounds of an older draft, patterns that
// are not Go's, and dynamic references.
func supportedSchema(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = supportedSchema(e)
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
				if text, ok := e.(string); ok && !isGoPattern(text) {
					continue
				}
			case "patternProperties":
				if patterns, ok := e.(map[string]any); ok && slices.ContainsFunc(slices.Collect(maps.Keys(patterns)), func(p string) bool { return !isGoPattern(p) }) {
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
			table[k] = supportedSchema(e)
		}
		if free {
			delete(table, "additionalProperties")
			delete(table, "unevaluatedProperties")
		}
		return table
	}
	return v
}

func isGoPattern(s string) bool {
	_, err := regexp.Compile(s)
	return err == nil
}

// check returns what is wrong with the arguments, for the model, or "".
func (s *schema) check(arguments json.RawMessage) string {
	var v any
	if err := json.Unmarshal(arguments, &v); err != nil {
		return "they are not JSON"
	}
	err := s.resolved.Validate(v)
	if err == nil {
		return ""
	}
	text := strings.ReplaceAll(err.Error(), "validating root: ", "")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "validating /properties/", "/"), "<anonymous schema>", "{…}")
	return truncate(text, 1000)
}
