package tools

import (
	"encoding/json"
	"slices"

	"github.com/gowebpki/jcs"
)

// Differ names the tools in which what a thread has and what it would be started with now
// are not the same, both as dynamicTools: the ones that it has not or has in another form,
// and, with whole, those that there are no more. Without whole, now is not all that there
// is. A tool's own description does not count.
func Differ(has, now json.RawMessage, whole bool) ([]string, error) {
	old, err := byName(has)
	if err != nil {
		return nil, err
	}
	today, err := byName(now)
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

// byName are tools in their canonical form, by the names that they are called by.
func byName(dynamicTools json.RawMessage) (map[string]string, error) {
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
		text, err := json.Marshal(t.members)
		if err != nil {
			return nil, err
		}
		if text, err = jcs.Transform(text); err != nil {
			return nil, err
		}
		forms[called(t.namespace, t.name)] = string(text)
	}
	return forms, nil
}

// Without is dynamicTools without the tools of those names, in the newer form; nil when
// nothing is left.
func Without(dynamicTools json.RawMessage, names func(namespace, name string) bool) (json.RawMessage, error) {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return nil, err
	}
	var list []any
	spaces := make(map[string]*space)
	for _, t := range flat {
		if names(t.namespace, t.name) {
			continue
		}
		delete(t.members, "namespace")
		t.members["type"] = json.RawMessage(`"function"`)
		if t.namespace == "" {
			list = append(list, t.members)
			continue
		}
		one := spaces[t.namespace]
		if one == nil {
			one = &space{Type: "namespace", Name: t.namespace, Description: "Tools in the " + t.namespace + " namespace."}
			spaces[t.namespace] = one
			list = append(list, one)
		}
		one.Tools = append(one.Tools, t.members)
	}
	if list == nil {
		return nil, nil
	}
	return json.Marshal(list)
}

type space struct {
	Type        string                       `json:"type"`
	Name        string                       `json:"name"`
	Description string                       `json:"description"`
	Tools       []map[string]json.RawMessage `json:"tools"`
}
