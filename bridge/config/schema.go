package config

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of a configuration file, made
// from the fields of Config and the same rows that Load checks by. It says
// what one file may hold; layers, paths and globs only Load can judge.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[Config](), "", reflect.ValueOf(*Default()))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "codex-bridge configuration"
	s["description"] = "The format of config.toml and .codex-bridge.toml. A workspace's file may only tighten."
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: the schema has no JSON form: " + err.Error()) // a fault of the tables
	}
	return append(text, '\n')
}

// schemaOf describes the values of type t under a key pattern; def is the
// default, or the zero Value.
func schemaOf(t reflect.Type, pattern string, def reflect.Value) map[string]any {
	s := specs[pattern]
	out := map[string]any{}
	if s.doc != "" {
		out["description"] = s.doc
	}
	dot := pattern + "."
	if pattern == "" {
		dot = ""
	}
	switch {
	case t == reflect.TypeFor[Duration]():
		out["type"] = "string"
		out["pattern"] = durationForm.String()
	case t == reflect.TypeFor[Size]():
		out["anyOf"] = []any{
			map[string]any{"type": "string", "pattern": sizeForm.String()},
			map[string]any{"type": "integer", "minimum": s.least, "maximum": s.most},
		}
	case s.schema:
		out["type"] = "object"
		out["properties"] = map[string]any{"type": map[string]any{"const": "object"}}
		out["required"] = []string{"type"}
	case t.Kind() == reflect.Struct:
		objectSchema(out, t, s, dot, def)
		return out
	case t.Kind() == reflect.Map:
		out["type"] = "object"
		if t.Elem().Kind() != reflect.Interface {
			out["additionalProperties"] = schemaOf(t.Elem(), dot+"*", entryDefault(dot+"*"))
		}
		if s.names != nil {
			out["propertyNames"] = map[string]any{"pattern": s.names.String()}
		}
		return out
	case t.Kind() == reflect.Slice:
		listSchema(out, t, s, pattern)
	case t.Kind() == reflect.String:
		stringSchema(out, s)
	case t.Kind() == reflect.Bool:
		out["type"] = "boolean"
	case t.Kind() == reflect.Int:
		out["type"] = "integer"
		out["minimum"], out["maximum"] = s.least, s.most
	}
	if showDefault(def, pattern) {
		out["default"] = def.Interface()
	}
	return out
}

func objectSchema(out map[string]any, t reflect.Type, s spec, dot string, def reflect.Value) {
	out["type"] = "object"
	out["additionalProperties"] = false
	props := map[string]any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		if !f.IsExported() || name == "-" {
			continue
		}
		var d reflect.Value
		if def.IsValid() {
			d = def.FieldByIndex(f.Index)
		}
		props[name] = schemaOf(f.Type, dot+name, d)
	}
	out["properties"] = props
	if s.required != nil {
		out["required"] = s.required
	}
	having := func(keys []string) (list []any) {
		for _, k := range keys {
			list = append(list, map[string]any{"required": []string{k}})
		}
		return list
	}
	if s.anyOf != nil {
		out["anyOf"] = having(s.anyOf)
	}
	if s.oneOf != nil {
		out["oneOf"] = having(s.oneOf)
	}
}

func listSchema(out map[string]any, t reflect.Type, s spec, pattern string) {
	out["type"] = "array"
	item := schemaOf(t.Elem(), pattern+"[]", entryDefault(pattern+"[]"))
	out["items"] = item
	if s.filled || s.program {
		out["minItems"] = 1
	}
	if s.first != nil {
		out["prefixItems"] = []any{map[string]any{"enum": s.first}}
	}
	if s.program {
		out["prefixItems"] = []any{map[string]any{"type": "string", "minLength": 1}}
	}
}

func stringSchema(out map[string]any, s spec) {
	out["type"] = "string"
	if s.enum != nil {
		out["enum"] = s.enum
	}
	if s.pattern != nil {
		out["pattern"] = s.pattern.String()
	}
	if s.filled {
		out["pattern"] = `\S`
	}
}

func entryDefault(pattern string) reflect.Value {
	if def := entryDefaults(pattern); def != nil {
		return reflect.ValueOf(def)
	}
	return reflect.Value{}
}

// showDefault leaves out defaults that say nothing: no list, and the zero
// values of repeated tables, where they mean "not set".
func showDefault(def reflect.Value, pattern string) bool {
	if !def.IsValid() || def.Kind() == reflect.Slice && def.IsNil() {
		return false
	}
	return !def.IsZero() || !strings.ContainsAny(pattern, "*[")
}
