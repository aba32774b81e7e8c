package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"codex-bridge.example/relay/hook"
)

// commandTools are the tools whose input is one text. Codex wraps it in an object with one
// member. Codex rejects a rewritten input without that member, and silently drops other
// members (both measured). MCP tools, dynamic tools and view_image take any object
// (measured).
var commandTools = map[string]bool{"Bash": true, "apply_patch": true}

// changesInput reports whether input differs from the call's. It returns an error if Codex
// would not accept it.
func changesInput(call *hook.Call, input json.RawMessage) (bool, error) {
	now, err := decodeValue(input)
	if err != nil {
		return false, errors.New("the input that it returned is not valid JSON")
	}
	members, isObject := now.(map[string]any)
	was, err := decodeValue(call.ToolInput)
	if err == nil && reflect.DeepEqual(was, now) {
		return false, nil
	}
	if !isObject {
		return false, errors.New("the input that it returned is not a JSON object")
	}
	if commandTools[call.ToolName] {
		if _, isText := members["command"].(string); !isText || len(members) != 1 {
			return false, errors.New("for this tool Codex accepts only {\"command\": TEXT} as a rewritten input")
		}
	}
	return true, nil
}

// decodeValue keeps the digits of numbers, so that two numbers that a float can't tell
// apart differ.
func decodeValue(text json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// withInput returns a copy of the call with another input; nil returns the call itself.
func withInput(call *hook.Call, input json.RawMessage) *hook.Call {
	if input == nil {
		return call
	}
	next := *call
	next.ToolInput = input
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(call.Payload, &members) // ParseCall has checked it
	members["tool_input"] = input
	next.Payload, _ = json.Marshal(members) // cannot fail for decoded JSON
	return &next
}
