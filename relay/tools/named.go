package tools

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Name is a tool's whole name.
type Name struct{ Namespace, Name string }

// String is the name for people.
func (n Name) String() string { return called(n.Namespace, n.Name) }

// Called is a tool's whole name for people.
func (s Spec) Called() string { return called(s.Namespace, s.Name) }

// Names are the tools that a thread/start offers as dynamicTools, in either form.
func Names(dynamicTools json.RawMessage) []Name {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return nil // codex will say so
	}
	names := make([]Name, len(flat))
	for i, t := range flat {
		names[i] = Name{t.namespace, t.name}
	}
	return names
}

// Specs are tools that somebody gives in either form of dynamicTools. They are not
// checked but for their form: that is the catalogue's.
func Specs(dynamicTools json.RawMessage, origin string) ([]Spec, error) {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return nil, errors.New("it is no list of tools as in dynamicTools of thread/start")
	}
	specs := make([]Spec, len(flat))
	for i, t := range flat {
		s := Spec{Namespace: t.namespace, Name: t.name, InputSchema: t.members["inputSchema"], Origin: origin}
		if raw := t.members["description"]; raw != nil && json.Unmarshal(raw, &s.Description) != nil {
			return nil, fmt.Errorf("the description of %q is no text", s.Called())
		}
		if raw := t.members["deferLoading"]; raw != nil && json.Unmarshal(raw, &s.Searchable) != nil {
			return nil, fmt.Errorf("deferLoading of %q is neither true nor false", s.Called())
		}
		specs[i] = s
	}
	return specs, nil
}
