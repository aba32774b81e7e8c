package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/methods"
)

// schema has the parts of a JSON schema of Codex that the converter uses.
type schema struct {
	Always     *bool // the schemas true and false
	Ref        string
	Types      []string
	Enum       []any
	Properties map[string]*schema
	Required   []string
	Items      *schema
	Values     *schema // additionalProperties
	OneOf      []*schema
	AnyOf      []*schema
	AllOf      []*schema
}

// ignoredKeywords do not affect the form of a value.
var ignoredKeywords = []string{"title", "description", "default", "format", "minimum", "minLength", "$schema", "definitions"}

// UnmarshalJSON parses a schema. It fails at an unknown keyword, whose meaning would be missing in
// the table.
func (s *schema) UnmarshalJSON(text []byte) error {
	var always bool
	if json.Unmarshal(text, &always) == nil {
		s.Always = &always
		return nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	for key, value := range raw {
		var err error
		switch key {
		case "$ref":
			err = json.Unmarshal(value, &s.Ref)
		case "type":
			var one string
			if json.Unmarshal(value, &one) == nil {
				s.Types = []string{one}
			} else {
				err = json.Unmarshal(value, &s.Types)
			}
		case "enum":
			err = json.Unmarshal(value, &s.Enum)
		case "properties":
			err = json.Unmarshal(value, &s.Properties)
		case "required":
			err = json.Unmarshal(value, &s.Required)
		case "items":
			err = json.Unmarshal(value, &s.Items)
		case "additionalProperties":
			err = json.Unmarshal(value, &s.Values)
		case "oneOf":
			err = json.Unmarshal(value, &s.OneOf)
		case "anyOf":
			err = json.Unmarshal(value, &s.AnyOf)
		case "allOf":
			err = json.Unmarshal(value, &s.AllOf)
		default:
			if !slices.Contains(ignoredKeywords, key) {
				err = fmt.Errorf("unknown keyword %q", key)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// converter converts schemas to shapes.
type converter struct {
	definitions map[string]*schema
	done        map[string]*methods.Shape
}

var letters = map[string]string{
	"null": "z", "boolean": "b", "integer": "n", "number": "n", "string": "s", "array": "a", "object": "o",
}

func (c *converter) convert(s *schema) (*methods.Shape, error) {
	union := slices.Concat(s.OneOf, s.AnyOf)
	switch {
	case s.Always != nil && *s.Always:
		return &methods.Shape{Kinds: "*"}, nil
	case s.Ref != "":
		return &methods.Shape{Ref: path.Base(s.Ref)}, c.define(path.Base(s.Ref))
	case len(s.AllOf) == 1 && len(union) == 0 && s.Types == nil:
		return c.convert(s.AllOf[0])
	case len(s.AllOf) > 0 || len(s.OneOf) > 0 && len(s.AnyOf) > 0:
		return nil, fmt.Errorf("allOf with several schemas is not supported")
	case len(union) > 0:
		return c.union(s, union)
	case s.Types == nil && s.Properties == nil && s.Enum == nil:
		return &methods.Shape{Kinds: "*"}, nil
	}
	return c.plain(s)
}

// plain converts a schema of one or more types.
func (c *converter) plain(s *schema) (out *methods.Shape, err error) {
	out = new(methods.Shape)
	for _, t := range s.Types {
		out.Kinds += letters[t]
	}
	if s.Types == nil && s.Properties != nil {
		out.Kinds = "o"
	}
	for _, value := range s.Enum {
		switch value := value.(type) {
		case string:
			out.Enum = append(out.Enum, value)
		case nil:
		default:
			return nil, fmt.Errorf("an enum with a value of type %T", value)
		}
	}
	if s.Enum != nil && s.Types == nil {
		out.Kinds = "s"
	}
	if s.Items != nil {
		if out.Elem, err = c.convert(s.Items); err != nil {
			return nil, err
		}
	}
	if s.Properties != nil {
		out.Members = make(map[string]*methods.Shape)
	}
	for name, property := range s.Properties {
		if out.Members[name], err = c.convert(property); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	out.Required = slices.Sorted(slices.Values(s.Required))
	out.Closed = s.Values != nil && s.Values.Always != nil && !*s.Values.Always
	if s.Values != nil && s.Values.Always == nil {
		if out.Values, err = c.convert(s.Values); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// union converts a schema of alternatives. Keywords next to the alternatives apply to each.
func (c *converter) union(s *schema, variants []*schema) (*methods.Shape, error) {
	out := new(methods.Shape)
	var objects []*schema
	for _, v := range variants {
		v = mergeOuter(v, s)
		switch {
		case len(v.Types) == 1 && v.Types[0] == "null":
			out.Kinds += "z"
		case len(v.Types) == 1 && v.Types[0] == "string" && v.Ref == "":
			if !strings.Contains(out.Kinds, "s") {
				out.Kinds += "s"
			}
			for _, value := range v.Enum {
				out.Enum = append(out.Enum, fmt.Sprint(value))
			}
		default:
			objects = append(objects, v)
		}
	}
	tag := c.tagOf(objects)
	if tag == "" {
		for _, v := range objects {
			one, err := c.convert(v)
			if err != nil {
				return nil, err
			}
			out.Any = append(out.Any, one)
		}
		if len(out.Any) == 1 && (out.Kinds == "" || out.Kinds == "z" && out.Any[0].Ref != "") {
			out.Any[0].Kinds += out.Kinds
			return out.Any[0], nil
		}
		return out, nil
	}
	out.Tag, out.Variants = tag, make(map[string]*methods.Shape)
	out.Kinds += "o"
	for _, v := range objects {
		one, err := c.convert(v)
		if err != nil {
			return nil, err
		}
		names := c.resolve(v).Properties[tag].Enum
		name := names[0].(string)
		if twice := out.Variants[name]; twice != nil {
			if twice.Any == nil {
				twice = &methods.Shape{Any: []*methods.Shape{twice}}
			}
			twice.Any = append(twice.Any, one)
			one = twice
		}
		out.Variants[name] = one
	}
	return out, nil
}

// mergeOuter returns a variant with the keywords next to the variants.
func mergeOuter(v, outer *schema) *schema {
	if outer.Properties == nil || v.Ref != "" {
		return v
	}
	m := *v
	m.Properties = maps.Clone(outer.Properties)
	maps.Copy(m.Properties, v.Properties)
	m.Required = slices.Concat(outer.Required, v.Required)
	if m.Types == nil {
		m.Types = outer.Types
	}
	return &m
}

func (c *converter) resolve(s *schema) *schema {
	for s.Ref != "" {
		s = c.definitions[path.Base(s.Ref)]
	}
	return s
}

// tagOf returns the member whose value names the variant of an object; "" if there is none.
func (c *converter) tagOf(variants []*schema) string {
	if len(variants) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(c.resolve(variants[0]).Properties)) {
		if !slices.ContainsFunc(variants, func(v *schema) bool {
			v = c.resolve(v)
			tag := v.Properties[name]
			return tag == nil || len(tag.Enum) != 1 || !slices.Contains(v.Required, name)
		}) {
			return name
		}
	}
	return ""
}

// define converts a definition once.
func (c *converter) define(name string) error {
	if _, ok := c.done[name]; ok {
		return nil
	}
	s, ok := c.definitions[name]
	if !ok {
		return fmt.Errorf("there is no definition %s", name)
	}
	c.done[name] = nil // while it is converted
	made, err := c.convert(s)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.done[name] = made
	return nil
}

// addUndocumented adds forms that Codex reads but its schema lacks.
func (c *converter) addUndocumented() error {
	// Measured with Codex 0.169: of 3,117 spellings tried on each of 220 objects, this is the only
	// member that Codex reads and the schema lacks. The policy does not decide about it.
	policy := c.done["SandboxPolicy"]
	if policy == nil || policy.Variants["readOnly"] == nil {
		return fmt.Errorf("SandboxPolicy has no variant readOnly")
	}
	policy.Variants["readOnly"].Refused = []string{"access"}
	// Codex accepts the older form of tools without a type.
	tool := c.done["DynamicToolSpec"]
	if tool == nil || tool.Variants["function"] == nil {
		return fmt.Errorf("DynamicToolSpec has no variant function")
	}
	older := *tool.Variants["function"]
	older.Members = maps.Clone(older.Members)
	older.Members["namespace"] = &methods.Shape{Kinds: "sz"}
	older.Members["exposeToContext"] = &methods.Shape{Kinds: "bz"}
	delete(older.Members, "type")
	older.Required = slices.DeleteFunc(slices.Clone(older.Required), func(name string) bool { return name == "type" })
	tool.Untagged = &older
	return nil
}

// schemaFile is a file of Codex's schema.
type schemaFile struct {
	schema
	Definitions map[string]*schema
}

func (f *schemaFile) UnmarshalJSON(text []byte) error {
	var d struct {
		Definitions map[string]*schema `json:"definitions"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	f.Definitions = d.Definitions
	return json.Unmarshal(text, &f.schema)
}

func readFile(dir, name string) (*schemaFile, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	f := new(schemaFile)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// shapes converts the schema that Codex wrote to dir.
func shapes(dir, version string) (*methods.ShapeTable, error) {
	t := &methods.ShapeTable{Version: version, Definitions: make(map[string]*methods.Shape), Answers: make(map[string]*methods.Shape)}
	c := &converter{definitions: make(map[string]*schema), done: make(map[string]*methods.Shape)}
	var err error
	if t.Requests, err = c.side(dir, "ClientRequest.json"); err != nil {
		return nil, err
	}
	if t.Notifications, err = c.side(dir, "ClientNotification.json"); err != nil {
		return nil, err
	}
	asks, err := readFile(dir, "ServerRequest.json")
	if err != nil {
		return nil, err
	}
	for _, m := range asks.OneOf {
		name := strings.TrimSuffix(path.Base(m.Properties["params"].Ref), "Params") + "Response.json"
		answer, err := readFile(dir, name)
		if err != nil {
			return nil, err
		}
		if err := c.add(answer.Definitions); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		method := m.Properties["method"].Enum[0].(string)
		if t.Answers[method], err = c.convert(&answer.schema); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := c.addUndocumented(); err != nil {
		return nil, err
	}
	t.Definitions = c.done
	return t, nil
}

// add adds definitions. Definitions of one name are equal in all files.
func (c *converter) add(definitions map[string]*schema) error {
	for name, s := range definitions {
		if old, ok := c.definitions[name]; ok {
			a, errA := json.Marshal(old)
			b, errB := json.Marshal(s)
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				return fmt.Errorf("there are two definitions %s", name)
			}
			continue
		}
		c.definitions[name] = s
	}
	return nil
}

func (c *converter) side(dir, name string) (map[string]*methods.Shape, error) {
	f, err := readFile(dir, name)
	if err != nil {
		return nil, err
	}
	if err := c.add(f.Definitions); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := make(map[string]*methods.Shape)
	for _, m := range f.OneOf {
		method := m.Properties["method"].Enum[0].(string)
		params := m.Properties["params"]
		if params == nil || slices.Equal(params.Types, []string{"null"}) {
			all[method] = &methods.Shape{Kinds: "*"} // Codex reads no params
			continue
		}
		if all[method], err = c.convert(params); err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
	}
	return all, nil
}

// encode returns the table with one line per name, for readable diffs.
func encode(t *methods.ShapeTable) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"version\": %q", t.Version)
	for _, part := range []struct {
		name   string
		shapes map[string]*methods.Shape
	}{{"requests", t.Requests}, {"notifications", t.Notifications}, {"answers", t.Answers}, {"definitions", t.Definitions}} {
		fmt.Fprintf(&out, ",\n%q: {", part.name)
		for i, name := range slices.Sorted(maps.Keys(part.shapes)) {
			line, err := json.Marshal(part.shapes[name])
			if err != nil {
				return nil, err
			}
			if i > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, "\n%q: %s", name, line)
		}
		out.WriteString("\n}")
	}
	out.WriteString("\n}\n")
	return out.Bytes(), nil
}
