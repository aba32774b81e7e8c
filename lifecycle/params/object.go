package params

import (
	"bytes"
	"encoding/json"
	"fmt"

	"codex-bridge.example/rpc"
)

// object is a JSON object with undecoded members.
type object map[string]json.RawMessage

// readObject reads an object strictly. An empty text and null are an empty object.
func readObject(text json.RawMessage) (object, error) {
	if len(text) == 0 {
		return object{}, nil
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		return nil, err
	}
	switch kind := doc.Root().Kind(); {
	case kind == rpc.Null:
		return object{}, nil
	case kind != rpc.Object:
		return nil, fmt.Errorf("it is %s, not an object", kind)
	case doc.Truncated():
		return nil, fmt.Errorf("it has too many values")
	}
	o := make(object)
	for name, v := range doc.Root().Members() {
		o[name] = v.Raw()
	}
	return o, nil
}

// write writes the members in the order of their names.
func (o object) write() (json.RawMessage, error) { return Encode(o) }

// text returns a string member, or "" if it is absent or null. Any other value is an error.
func (o object) text(name string) (string, error) {
	raw, ok := o[name]
	if !ok || string(raw) == "null" {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("%s must be a string", name)
	}
	return text, nil
}

// set sets a member to a string, or deletes it if text is "".
func (o object) set(name, text string) error {
	if text == "" {
		delete(o, name)
		return nil
	}
	raw, err := Encode(text)
	o[name] = raw
	return err
}

// Encode returns v as JSON, without escapes for <, > and &.
func Encode(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text.Bytes()), nil
}
