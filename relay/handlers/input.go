package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"codex-bridge/relay/hook"
)

// commands are the tools whose input is one text, for which Codex makes up an object
// with one member. A rewritten one without it is refused by Codex, and other
// members are dropped without a word (both measured). The tools that hooks see and
// that take any object: MCP tools, dynamic tools, view_image (measured).
var commands = map[string]bool{"Bash": true, "apply_patch": true}

// rewritten tells whether input differs from the call's, and whether Codex can be
// told so.
func rewritten(call *hook.Call, input json.RawMessage) (bool, error) {
	now, err := value(input)
	if err != nil {
		return false, errors.New("the input that it rewrote is no JSON")
	}
	members, isObject := now.(map[string]any)
	was, err := value(call.ToolInput)
	if err == nil && reflect.DeepEqual(was, now) {
		return false, nil
	}
	if !isObject {
		return false, errors.New("it rewrote the tool's input into something that is no JSON object")
	}
	if commands[call.ToolName] {
		if _, isText := members["command"].(string); !isText || len(members) != 1 {
			return false, errors.New("it rewrote the tool's input into something other than {\"command\": TEXT}, which is all that Codex takes for this tool")
		}
	}
	return true, nil
}

// value keeps numbers as they are written: two that differ beyond the precision of a
// float are not the same.
func value(text json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// with is the call with another input; nil: the one it has.
func with(call *hook.Call, input json.RawMessage) *hook.Call {
	if input == nil {
		return call
	}
	next := *call
	next.ToolInput = input
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(call.Payload, &members) // within has read it
	members["tool_input"] = input
	next.Payload, _ = json.Marshal(members) // of what was read
	return &next
}
