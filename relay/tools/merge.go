package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Conflict is a tool of the client's that has the name of one of the host's. What the
// host has configured is not to be replaced, nor hidden, by what a client brings.
type Conflict struct {
	Tool   string // as the client calls it
	Host   string // the origin of the host's
	Reason string
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("the client's tool %q in dynamicTools %s of %s; give it another name", c.Tool, c.Reason, c.Host)
}

// function is a tool as Codex takes it, in either form.
type function struct {
	Type        string          `json:"type,omitempty"`
	Namespace   string          `json:"namespace,omitempty"` // in the older form
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Defer       bool            `json:"deferLoading,omitempty"`
}

// namespace is what holds functions of the newer form.
type namespace struct {
	Type        string     `json:"type"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Tools       []function `json:"tools"`
}

// Merge is what a thread/start is to offer: the client's own dynamicTools as they came,
// and after them the host's, in the form that the client has chosen. Without tools of
// the host it is what the client sent. The error is a *Conflict, or that the client's
// can't be read.
func (o *Offer) Merge(client json.RawMessage) (json.RawMessage, error) {
	if len(o.tools) == 0 {
		return client, nil
	}
	theirs, err := flatten(client)
	if err != nil {
		return nil, err
	}
	namespaces := map[string]*tool{}
	for _, t := range o.tools {
		if t.spec.Namespace != "" && namespaces[t.spec.Namespace] == nil {
			namespaces[t.spec.Namespace] = t
		}
	}
	for _, t := range theirs {
		if host := o.byKey[key(t.namespace, t.name)]; host != nil {
			return nil, &Conflict{called(t.namespace, t.name), host.spec.Origin, fmt.Sprintf("has the name of the tool %q", called(host.spec.Namespace, host.spec.Name))}
		}
		if host := namespaces[t.namespace]; host != nil {
			return nil, &Conflict{called(t.namespace, t.name), host.spec.Origin, fmt.Sprintf("has the namespace of the tool %q", called(host.spec.Namespace, host.spec.Name))}
		}
	}
	var ours json.RawMessage
	if older(client) {
		ours, err = json.Marshal(o.flat())
	} else {
		ours, err = json.Marshal(o.nested())
	}
	if err != nil {
		return nil, err
	}
	if len(theirs) == 0 && empty(client) {
		return ours, nil
	}
	client = bytes.TrimSpace(client)
	joined := append([]byte{}, client[:len(client)-1]...)
	joined = append(append(joined, ','), ours[1:]...)
	return joined, nil
}

func empty(list json.RawMessage) bool {
	var elements []json.RawMessage
	return len(list) == 0 || json.Unmarshal(list, &elements) == nil && len(elements) == 0
}

// Fingerprint is that of the host's tools alone.
func (o *Offer) Fingerprint() string {
	text, err := json.Marshal(o.flat())
	if err == nil {
		var print string
		if print, err = Fingerprint(text); err == nil {
			return print
		}
	}
	return "invalid: " + err.Error() // schemas have been read before, so that it is not to be had
}

func (o *Offer) flat() []function {
	list := make([]function, len(o.tools))
	for i, t := range o.tools {
		list[i] = t.function()
		list[i].Namespace = t.spec.Namespace
	}
	return list
}

func (o *Offer) nested() []any {
	var list []any
	var last *namespace
	for _, t := range o.tools {
		f := t.function()
		f.Type = "function"
		if t.spec.Namespace == "" {
			list = append(list, f)
			continue
		}
		if last == nil || last.Name != t.spec.Namespace {
			// The words are those that Codex itself has for a namespace of the older form.
			last = &namespace{"namespace", t.spec.Namespace, fmt.Sprintf("Tools in the %s namespace.", t.spec.Namespace), nil}
			list = append(list, last)
		}
		last.Tools = append(last.Tools, f)
	}
	return list
}

func (t *tool) function() function {
	return function{Name: t.spec.Name, Description: t.spec.Description, InputSchema: t.schema.offered, Defer: t.spec.Searchable}
}
