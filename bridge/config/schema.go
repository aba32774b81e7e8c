package config

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of a configuration file. It describes the fields of
// Config and the rows of specs. It does not check layers, paths and globs.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[Config](), "", reflect.ValueOf(*Default()))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "codex-bridge configuration"
	s["description"] = "The format of config.toml and .codex-bridge.toml. A workspace's file may only tighten."
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: a table has a value that is not JSON: " + err.Error())
	}
	return append(text, '\n')
}

// schemaOf returns the schema of the values of a key. def is the default, or the zero Value.
func schemaOf(t reflect.Type, pattern string, def reflect.Value) map[string]any {
	s := specs[pattern]
	out := map[string]any{}
	if s.doc != "" {
		out["description"] = s.doc
	}
	below := pattern + "."
	if pattern == "" {
		below = ""
	}
	switch {
	case t == reflect.TypeFor[Duration]():
		out["type"], out["pattern"] = "string", durationForm.String()
	case t == reflect.TypeFor[Size]():
		out["anyOf"] = []any{
			map[string]any{"type": "string", "pattern": sizeForm.String()},
			map[string]any{"type": "integer", "minimum": s.minimum, "maximum": s.maximum},
		}
	case s.schema:
		out["type"] = "object"
		out["properties"] = map[string]any{"type": map[string]any{"const": "object"}}
		out["required"] = []string{"type"}
	case t.Kind() == reflect.Struct:
		objectSchema(out, t, s, below, def)
		return out
	case t.Kind() == reflect.Map:
		out["type"] = "object"
		if t.Elem().Kind() != reflect.Interface {
			out["additionalProperties"] = schemaOf(t.Elem(), below+"*", entryDefault(below+"*"))
		}
		if s.names != nil {
			out["propertyNames"] = map[string]any{"pattern": s.names.String()}
		}
		return out
	case t.Kind() == reflect.Slice:
		out["type"] = "array"
		out["items"] = schemaOf(t.Elem(), pattern+"[]", entryDefault(pattern+"[]"))
	case t.Kind() == reflect.String:
		out["type"] = "string"
	case t.Kind() == reflect.Bool:
		out["type"] = "boolean"
	case t.Kind() == reflect.Int:
		out["type"], out["minimum"], out["maximum"] = "integer", s.minimum, s.maximum
	}
	addKeywords(out, s, t.Kind() == reflect.Slice)
	if hasDefault(def, pattern) {
		out["default"] = def.Interface()
	}
	return out
}

// addKeywords adds the checks of a string or a list.
func addKeywords(out map[string]any, s spec, isList bool) {
	switch {
	case isList && (s.filled || s.program):
		out["minItems"] = 1
	case s.filled:
		out["pattern"] = `\S`
	case s.pattern != nil:
		out["pattern"] = s.pattern.String()
	}
	switch {
	case s.enum != nil:
		out["enum"] = s.enum
	case s.first != nil:
		out["prefixItems"] = []any{map[string]any{"enum": s.first}}
	case s.program:
		out["prefixItems"] = []any{map[string]any{"type": "string", "minLength": 1}}
	}
}

func objectSchema(out map[string]any, t reflect.Type, s spec, below string, def reflect.Value) {
	properties := map[string]any{}
	for name, f := range fields(t) {
		var d reflect.Value
		if def.IsValid() {
			d = def.FieldByIndex(f.Index)
		}
		properties[name] = schemaOf(f.Type, below+name, d)
	}
	out["type"], out["additionalProperties"], out["properties"] = "object", false, properties
	if s.required != nil {
		out["required"] = s.required
	}
	for keyword, keys := range map[string][]string{"anyOf": s.anyOf, "oneOf": s.oneOf} {
		var list []any
		for _, key := range keys {
			list = append(list, map[string]any{"required": []string{key}})
		}
		if list != nil {
			out[keyword] = list
		}
	}
}

func entryDefault(pattern string) reflect.Value {
	if def := entryDefaults(pattern); def != nil {
		return reflect.ValueOf(def)
	}
	return reflect.Value{}
}

// hasDefault reports whether the schema shows a default. It omits nil lists, and zero values of
// rules, handlers, tools, tool servers and agents, where they mean "not set".
func hasDefault(def reflect.Value, pattern string) bool {
	if !def.IsValid() || def.Kind() == reflect.Slice && def.IsNil() {
		return false
	}
	return !def.IsZero() || !strings.ContainsAny(pattern, "*[")
}
