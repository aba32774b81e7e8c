package release

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"codex-bridge.example/bridge/methods"
)

// bundleFile is the file of Codex's JSON schema with all types.
const bundleFile = "codex_app_server_protocol.schemas.json"

// requirementsType is the type of the requirements in the response of configRequirements/read.
const requirementsType = "ConfigRequirements"

// typeNode is the part of a JSON schema with names of members and with strings that are valid.
type typeNode struct {
	Ref        string              `json:"$ref"`
	Enum       []any               `json:"enum"`
	Properties map[string]typeNode `json:"properties"`
	Required   []string            `json:"required"`
	Items      *typeNode           `json:"items"`
	Values     *typeNode           `json:"additionalProperties"`
	OneOf      []typeNode          `json:"oneOf"`
	AnyOf      []typeNode          `json:"anyOf"`
	AllOf      []typeNode          `json:"allOf"`
}

// UnmarshalJSON parses a schema. true and false are schemas without names.
func (n *typeNode) UnmarshalJSON(text []byte) error {
	type plain typeNode
	return unmarshalSchema(text, (*plain)(n))
}

// variants returns the schemas of which a value matches one or all.
func (n *typeNode) variants() []typeNode { return slices.Concat(n.OneOf, n.AnyOf, n.AllOf) }

// children returns the schemas inside n.
func (n *typeNode) children() []typeNode {
	list := append(n.variants(), slices.Collect(maps.Values(n.Properties))...)
	for _, one := range []*typeNode{n.Items, n.Values} {
		if one != nil {
			list = append(list, *one)
		}
	}
	return list
}

// readTypes reads Types, Enums and Requirements from the file with all types.
func (r *Release) readTypes(file string) error {
	var bundle struct {
		Definitions map[string]typeNode `json:"definitions"`
	}
	var versioned struct {
		Definitions struct {
			V2 map[string]typeNode `json:"v2"`
		} `json:"definitions"`
	}
	if err := readJSON(file, &bundle); err != nil {
		return err
	}
	if err := readJSON(file, &versioned); err != nil {
		return err
	}
	types := bundle.Definitions
	delete(types, "v2")
	for name, node := range versioned.Definitions.V2 {
		if _, ok := types[name]; !ok {
			types[name] = node
		}
	}
	if _, ok := types[requirementsType]; !ok {
		return fmt.Errorf("%s has no type %s; the schema of this codex has an unknown form", path.Base(file), requirementsType)
	}
	r.Requirements = requirementTypes(types)
	r.Enums = enumsOf(types)
	r.Types = typesFromClient(types)
	r.Sent = sentTypes(types)
	return nil
}

// methodList reports whether a type is one of the lists of all methods of a side.
func methodList(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(schemaFiles)), name+".json")
}

// enumsOf returns the strings that each type, or member of a type, accepts.
func enumsOf(types map[string]typeNode) map[string][]string {
	enums := make(map[string][]string)
	var collect func(name string, n typeNode)
	collect = func(name string, n typeNode) {
		for _, value := range n.Enum {
			if text, ok := value.(string); ok {
				enums[name] = append(enums[name], text)
			}
		}
		variants := n.variants()
		text := slices.ContainsFunc(variants, func(v typeNode) bool { return v.Enum != nil })
		for _, v := range variants {
			if key, ok := v.onlyMember(); ok && text { // an object in place of a string, as {"granular": {…}}
				enums[name] = append(enums[name], key)
			}
			collect(name, v)
		}
		for member, one := range n.Properties {
			collect(name+"."+member, one)
		}
		for _, one := range []*typeNode{n.Items, n.Values} {
			if one != nil {
				collect(name, *one)
			}
		}
	}
	for name, n := range types {
		if !methodList(name) {
			collect(name, n)
		}
	}
	for name, values := range enums {
		slices.Sort(values)
		enums[name] = slices.Compact(values)
	}
	return enums
}

// onlyMember returns the name of an object's single required member that is not a constant.
func (n *typeNode) onlyMember() (name string, ok bool) {
	if len(n.Properties) != 1 || len(n.Required) != 1 {
		return "", false
	}
	name = n.Required[0]
	return name, n.Properties[name].Enum == nil
}

// typesFromClient returns the members of the types that a client can send.
func typesFromClient(types map[string]typeNode) map[string][]string {
	seen := make(map[string]bool)
	params := make(map[string]bool) // MethodShape has their members
	for side, file := range schemaFiles {
		for _, m := range types[strings.TrimSuffix(file, ".json")].OneOf {
			node := m.Properties["params"]
			if side == methods.ServerRequest {
				node = typeNode{Ref: strings.TrimSuffix(path.Base(node.Ref), "Params") + "Response"}
			} else if !side.IsFromClient() {
				continue
			}
			for _, n := range append(node.variants(), node) {
				params[path.Base(n.Ref)] = true
			}
			markTypes(types, node, seen)
		}
	}
	list := membersOf(types, seen)
	maps.DeleteFunc(list, func(name string, _ []string) bool { return params[name] })
	return list
}

// sentTypes returns the members of the types that Codex sends and a client does not. Those of params are
// in MethodShape.
func sentTypes(types map[string]typeNode) map[string][]string {
	fromClient, sent := make(map[string]bool), make(map[string]bool)
	for side, file := range schemaFiles {
		for _, m := range types[strings.TrimSuffix(file, ".json")].OneOf {
			node := m.Properties["params"]
			if side.IsFromClient() {
				markTypes(types, node, fromClient)
				continue
			}
			markTypes(types, node, sent)
			if side == methods.ServerRequest {
				markTypes(types, typeNode{Ref: strings.TrimSuffix(path.Base(node.Ref), "Params") + "Response"}, fromClient)
			}
			for _, n := range append(node.variants(), node) {
				fromClient[path.Base(n.Ref)] = true
			}
		}
	}
	for name := range types {
		if strings.HasSuffix(name, "Response") && !fromClient[name] {
			markTypes(types, typeNode{Ref: name}, sent)
		}
	}
	markTypes(types, typeNode{Ref: requirementsType}, fromClient) // Requirements has them
	list := make(map[string][]string)
	for name := range sent {
		if fromClient[name] {
			continue
		}
		node := types[name]
		if node.tagged() {
			for _, v := range node.variants() {
				key := fmt.Sprintf("%s %v", name, v.Properties["type"].Enum[0])
				list[key] = append(list[key], v.members()...)
				slices.Sort(list[key])
				list[key] = slices.Compact(list[key])
			}
		}
		if names := node.members(); len(names) > 0 && !node.tagged() {
			list[name] = names
		}
	}
	return list
}

// tagged reports whether the member type of an object names its variant.
func (n *typeNode) tagged() bool {
	variants := n.variants()
	return len(variants) > 0 && !slices.ContainsFunc(variants, func(v typeNode) bool { return len(v.Properties["type"].Enum) != 1 })
}

// requirementTypes returns the members of the requirements, and of the types in them.
func requirementTypes(types map[string]typeNode) map[string][]string {
	seen := make(map[string]bool)
	markTypes(types, typeNode{Ref: requirementsType}, seen)
	return membersOf(types, seen)
}

// markTypes marks the types in a schema.
func markTypes(types map[string]typeNode, n typeNode, seen map[string]bool) {
	if name := path.Base(n.Ref); n.Ref != "" && !seen[name] {
		seen[name] = true
		markTypes(types, types[name], seen)
	}
	for _, child := range n.children() {
		markTypes(types, child, seen)
	}
}

// membersOf returns the members of the marked types that have some.
func membersOf(types map[string]typeNode, marked map[string]bool) map[string][]string {
	list := make(map[string][]string)
	for name := range marked {
		if names := types[name].members(); len(names) > 0 {
			list[name] = names
		}
	}
	return list
}

// members returns the names of a type's members, and those of the unnamed objects in it.
func (n typeNode) members() []string {
	names := make(map[string]bool)
	var collect func(prefix string, n typeNode)
	collect = func(prefix string, n typeNode) {
		for name, member := range n.Properties {
			names[prefix+name] = true
			collect(prefix+name+".", member)
		}
		for _, v := range n.variants() {
			collect(prefix, v)
		}
		if n.Items != nil {
			collect(prefix, *n.Items)
		}
	}
	collect("", n)
	return slices.Sorted(maps.Keys(names))
}
