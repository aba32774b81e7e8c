package release

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// schemaMethod is one variant in a list of methods in Codex's JSON schema.
type schemaMethod struct {
	Properties struct {
		Method struct {
			Enum []string `json:"enum"`
		} `json:"method"`
		Params schemaNode `json:"params"`
	} `json:"properties"`
}

// responseFile returns the file that describes a server request's response. Codex derives its
// name from that of the params.
func (m schemaMethod) responseFile() string {
	return strings.TrimSuffix(path.Base(m.Properties.Params.Ref), "Params") + "Response.json"
}

// schemaNode is the part of a JSON schema with the names of members. The schemas of the members
// are not examined.
type schemaNode struct {
	Ref        string                     `json:"$ref"`
	Properties map[string]json.RawMessage `json:"properties"`
	OneOf      []schemaNode               `json:"oneOf"`
	AnyOf      []schemaNode               `json:"anyOf"`
	AllOf      []schemaNode               `json:"allOf"`
}

// UnmarshalJSON parses a schema. true and false are schemas without members.
func (n *schemaNode) UnmarshalJSON(text []byte) error {
	type plain schemaNode
	return unmarshalSchema(text, (*plain)(n))
}

// unmarshalSchema parses a schema into node, which has no names if the schema is true or false.
func unmarshalSchema[T any](text []byte, node *T) error {
	if s := string(text); s == "true" || s == "false" {
		*node = *new(T)
		return nil
	}
	return json.Unmarshal(text, node)
}

// members returns the names of the members that a value may have, sorted.
func (n schemaNode) members(definitions map[string]schemaNode) []string {
	names := make(map[string]bool)
	seen := make(map[string]bool)
	var collect func(schemaNode)
	collect = func(n schemaNode) {
		if name := path.Base(n.Ref); n.Ref != "" && !seen[name] {
			seen[name] = true
			collect(definitions[name])
		}
		for name := range n.Properties {
			names[name] = true
		}
		for _, variant := range slices.Concat(n.OneOf, n.AnyOf, n.AllOf) {
			collect(variant)
		}
	}
	collect(n)
	if len(names) == 0 {
		return []string{}
	}
	return slices.Sorted(maps.Keys(names))
}
