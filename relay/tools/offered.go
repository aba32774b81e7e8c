package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// flatTool is a tool that a thread/start offers.
type flatTool struct {
	namespace, name string
	members         map[string]json.RawMessage // its own, without those of its namespace
}

var errNoList = errors.New("dynamicTools is not a list of tools")

// flatten takes the tools out of their namespaces. There are two forms, which Codex does
// not take together (measured with 0.169.0): {type: "function"} and {type: "namespace",
// tools}, and the older one, of tools that name their namespace.
func flatten(dynamicTools json.RawMessage) ([]flatTool, error) {
	var list []map[string]json.RawMessage
	if len(dynamicTools) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(dynamicTools, &list); err != nil {
		return nil, errNoList
	}
	flat := make([]flatTool, 0, len(list))
	for i, members := range list {
		if members == nil {
			return nil, errNoList
		}
		name := word(members["name"])
		if word(members["type"]) != "namespace" {
			flat = append(flat, flatTool{word(members["namespace"]), name, members})
			continue
		}
		var within []map[string]json.RawMessage
		if err := json.Unmarshal(members["tools"], &within); err != nil || slices.ContainsFunc(within, func(m map[string]json.RawMessage) bool { return m == nil }) {
			return nil, fmt.Errorf("dynamicTools[%d].tools is not a list of tools", i)
		}
		for _, members := range within {
			flat = append(flat, flatTool{name, word(members["name"]), members})
		}
	}
	return flat, nil
}

// older tells whether tools are offered in the older form.
func older(dynamicTools json.RawMessage) bool {
	var list []map[string]json.RawMessage
	return json.Unmarshal(dynamicTools, &list) == nil && len(list) > 0 && list[0]["type"] == nil
}

// word is a text, or "" for what is none.
func word(v json.RawMessage) string {
	var s string
	_ = json.Unmarshal(v, &s) // what is no text is no name, and Codex says so
	return s
}
