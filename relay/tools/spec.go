package tools

import "encoding/json"

// Spec is a tool as its provider describes it.
type Spec struct {
	Namespace   string // "" none
	Name        string
	Description string
	InputSchema json.RawMessage // a JSON Schema, an object
	Searchable  bool            // found by the model's search (deferLoading) rather than shown at once; needs a namespace
	Origin      string          // for people: the key of the configuration or the request it comes from
}
