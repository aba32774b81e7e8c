package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"
)

// flatTool is a tool in a value of dynamicTools.
type flatTool struct {
	namespace, name string
	members         map[string]json.RawMessage // without those of its namespace
}

var errNotAList = errors.New("dynamicTools is not a list of tools")

// flatten returns the tools without nesting. Codex accepts two forms, but not both together
// (measured with 0.169.0): {type: "function"} and {type: "namespace", tools}, and the older
// one, in which tools name their namespace.
func flatten(dynamicTools json.RawMessage) ([]flatTool, error) {
	var list []map[string]json.RawMessage
	if len(dynamicTools) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(dynamicTools, &list); err != nil {
		return nil, errNotAList
	}
	flat := make([]flatTool, 0, len(list))
	for i, members := range list {
		if members == nil {
			return nil, errNotAList
		}
		name := stringOrEmpty(members["name"])
		if stringOrEmpty(members["type"]) != "namespace" {
			flat = append(flat, flatTool{stringOrEmpty(members["namespace"]), name, members})
			continue
		}
		var within []map[string]json.RawMessage
		if err := json.Unmarshal(members["tools"], &within); err != nil || slices.ContainsFunc(within, func(m map[string]json.RawMessage) bool { return m == nil }) {
			return nil, fmt.Errorf("dynamicTools[%d].tools is not a list of tools", i)
		}
		for _, members := range within {
			flat = append(flat, flatTool{name, stringOrEmpty(members["name"]), members})
		}
	}
	return flat, nil
}

// isOlderForm reports whether tools are in the older form.
func isOlderForm(dynamicTools json.RawMessage) bool {
	var list []map[string]json.RawMessage
	return json.Unmarshal(dynamicTools, &list) == nil && len(list) > 0 && list[0]["type"] == nil
}

// stringOrEmpty returns a string, or "" for any other value.
func stringOrEmpty(v json.RawMessage) string {
	var s string
	_ = json.Unmarshal(v, &s) // Codex reports a name that is not a string
	return s
}

// Name is a tool's qualified name.
type Name struct{ Namespace, Name string }

// String returns the name for people.
func (n Name) String() string { return displayName(n.Namespace, n.Name) }

// DisplayName returns the tool's qualified name for people.
func (s Spec) DisplayName() string { return displayName(s.Namespace, s.Name) }

// Names returns the names of the tools in a value of dynamicTools, in either form.
func Names(dynamicTools json.RawMessage) []Name {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return nil // Codex reports the error
	}
	names := make([]Name, len(flat))
	for i, t := range flat {
		names[i] = Name{t.namespace, t.name}
	}
	return names
}

// Specs parses tools in either form of dynamicTools. It checks only their form; a Catalogue
// checks the rest.
func Specs(dynamicTools json.RawMessage, origin string) ([]Spec, error) {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return nil, errors.New("it is not a list of tools, as in dynamicTools of thread/start")
	}
	specs := make([]Spec, len(flat))
	for i, t := range flat {
		s := Spec{Namespace: t.namespace, Name: t.name, InputSchema: t.members["inputSchema"], Origin: origin}
		if raw := t.members["description"]; raw != nil && json.Unmarshal(raw, &s.Description) != nil {
			return nil, fmt.Errorf("the description of %q is not a string", s.DisplayName())
		}
		if raw := t.members["deferLoading"]; raw != nil && json.Unmarshal(raw, &s.Searchable) != nil {
			return nil, fmt.Errorf("deferLoading of %q is neither true nor false", s.DisplayName())
		}
		specs[i] = s
	}
	return specs, nil
}

// ChangedTools compares two values of dynamicTools and returns the names of the tools in
// now that has lacks or has in another form. With whole, now is complete, so tools that are
// only in has are included. Descriptions of tools are not compared.
func ChangedTools(has, now json.RawMessage, whole bool) ([]string, error) {
	old, err := canonicalByName(has)
	if err != nil {
		return nil, err
	}
	today, err := canonicalByName(now)
	if err != nil {
		return nil, err
	}
	var names []string
	for name, form := range today {
		if old[name] != form {
			names = append(names, name)
		}
	}
	for name := range old {
		if _, there := today[name]; whole && !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// canonicalByName returns the tools in a canonical form by display name.
func canonicalByName(dynamicTools json.RawMessage) (map[string]string, error) {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return nil, err
	}
	forms := make(map[string]string, len(flat))
	for _, t := range flat {
		for _, member := range []string{"description", "type", "namespace", "name"} {
			delete(t.members, member)
		}
		if string(t.members["deferLoading"]) == "false" {
			delete(t.members, "deferLoading")
		}
		if forms[displayName(t.namespace, t.name)], err = t.canonical(); err != nil {
			return nil, err
		}
	}
	return forms, nil
}

// Without returns dynamicTools in the newer form without the tools that names selects; nil
// if none is left.
func Without(dynamicTools json.RawMessage, names func(namespace, name string) bool) (json.RawMessage, error) {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return nil, err
	}
	flat = slices.DeleteFunc(flat, func(t flatTool) bool { return names(t.namespace, t.name) })
	if len(flat) == 0 {
		return nil, nil
	}
	return json.Marshal(nest(flat, func(t flatTool) (string, any) {
		delete(t.members, "namespace")
		t.members["type"] = json.RawMessage(`"function"`)
		return t.namespace, t.members
	}))
}

// namespace contains functions in the newer form.
type namespace struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Tools       []any  `json:"tools"`
}

// nest returns tools in the newer form. of returns the namespace of a tool, and the function.
func nest[T any](tools []T, of func(T) (string, any)) (list []any) {
	spaces := make(map[string]*namespace)
	for _, t := range tools {
		name, function := of(t)
		if name == "" {
			list = append(list, function)
			continue
		}
		one := spaces[name]
		if one == nil {
			// Codex's own text for a namespace of the older form.
			one = &namespace{Type: "namespace", Name: name, Description: "Tools in the " + name + " namespace."}
			spaces[name] = one
			list = append(list, one)
		}
		one.Tools = append(one.Tools, function)
	}
	return list
}

// canonical returns the canonical JSON of a tool.
func (t flatTool) canonical() (string, error) {
	text, err := json.Marshal(t.members)
	if err == nil {
		text, err = jcs.Transform(text)
	}
	if err != nil {
		return "", fmt.Errorf("dynamicTools has no canonical form: %w", err)
	}
	return string(text), nil
}

// NoTools is the fingerprint of no tools.
const NoTools = "[]"

// Fingerprint returns the canonical JSON (RFC 8785) of the tools in a value of
// dynamicTools, in either of Codex's two forms. The tools are sorted and have no
// descriptions of their own, so order and wording do not count. Everything else does,
// including descriptions within schemas.
func Fingerprint(dynamicTools json.RawMessage) (string, error) {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return "", err
	}
	canonical := make([]string, len(flat))
	for i, tool := range flat {
		delete(tool.members, "description")
		delete(tool.members, "type")
		if tool.namespace != "" {
			tool.members["namespace"], _ = json.Marshal(tool.namespace)
		}
		if canonical[i], err = tool.canonical(); err != nil {
			return "", err
		}
	}
	slices.Sort(canonical)
	return "[" + strings.Join(canonical, ",") + "]", nil
}
