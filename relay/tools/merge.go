package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Conflict is the error for a client's tool with the name of one of the host's. A client
// must not replace or hide the host's tools.
type Conflict struct {
	Tool   string // as the client names it
	Host   string // the origin of the host's tool
	Reason string
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("the client's tool %q in dynamicTools %s of %s; give it another name", c.Tool, c.Reason, c.Host)
}

// function is a tool in Codex's format, in either form.
type function struct {
	Type        string          `json:"type,omitempty"`
	Namespace   string          `json:"namespace,omitempty"` // only in the older form
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Defer       bool            `json:"deferLoading,omitempty"`
}

// Merge returns the dynamicTools of a thread/start: the client's unchanged, followed by the
// host's in the client's form. Without host tools it returns the client's. The error is a
// *Conflict, or says that the client's value is invalid.
func (o *Snapshot) Merge(client json.RawMessage) (json.RawMessage, error) {
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
		if host := o.byKey[codeModeName(t.namespace, t.name)]; host != nil {
			return nil, &Conflict{displayName(t.namespace, t.name), host.spec.Origin, fmt.Sprintf("has the name of the tool %q", displayName(host.spec.Namespace, host.spec.Name))}
		}
		if host := namespaces[t.namespace]; host != nil {
			return nil, &Conflict{displayName(t.namespace, t.name), host.spec.Origin, fmt.Sprintf("has the namespace of the tool %q", displayName(host.spec.Namespace, host.spec.Name))}
		}
	}
	var ours json.RawMessage
	if isOlderForm(client) {
		ours, err = json.Marshal(o.olderForm())
	} else {
		ours, err = json.Marshal(o.newerForm())
	}
	if err != nil {
		return nil, err
	}
	if len(theirs) == 0 && isEmptyList(client) {
		return ours, nil
	}
	client = bytes.TrimSpace(client)
	joined := append([]byte{}, client[:len(client)-1]...)
	joined = append(append(joined, ','), ours[1:]...)
	return joined, nil
}

func isEmptyList(list json.RawMessage) bool {
	var elements []json.RawMessage
	return len(list) == 0 || json.Unmarshal(list, &elements) == nil && len(elements) == 0
}

// Fingerprint returns the fingerprint of the host's tools alone.
func (o *Snapshot) Fingerprint() string {
	text, err := json.Marshal(o.olderForm())
	if err == nil {
		var print string
		if print, err = Fingerprint(text); err == nil {
			return print
		}
	}
	return "invalid: " + err.Error() // does not occur: the schemas were parsed before
}

func (o *Snapshot) olderForm() []function {
	list := make([]function, len(o.tools))
	for i, t := range o.tools {
		list[i] = t.function()
		list[i].Namespace = t.spec.Namespace
	}
	return list
}

func (o *Snapshot) newerForm() []any {
	return nest(o.tools, func(t *tool) (string, any) {
		f := t.function()
		f.Type = "function"
		return t.spec.Namespace, f
	})
}

func (t *tool) function() function {
	return function{Name: t.spec.Name, Description: t.spec.Description, InputSchema: t.schema.offered, Defer: t.spec.Searchable}
}
