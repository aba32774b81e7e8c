package scripted

import (
	"encoding/json"
	"strings"
)

// Request is a request of Codex to the model.
type Request struct {
	Model string            `json:"model"`
	Input []json.RawMessage `json:"input"` // the conversation, oldest first
	Tools []json.RawMessage `json:"tools"`

	// Body is the whole request as received.
	Body json.RawMessage `json:"-"`
}

// inputItem has the members of a conversation item that decide an answer.
type inputItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
}

// ToolNames returns the names of the offered tools; those of a namespace as NAMESPACE/TOOL.
func (r Request) ToolNames() []string {
	var names []string
	for _, raw := range r.Tools {
		var tool struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
		if json.Unmarshal(raw, &tool) != nil {
			continue
		}
		if len(tool.Tools) > 0 {
			for _, inner := range tool.Tools {
				names = append(names, tool.Name+"/"+inner.Name)
			}
			continue
		}
		if tool.Name == "" {
			tool.Name = tool.Type // web_search and tool_search have no name
		}
		names = append(names, tool.Name)
	}
	return names
}

// UserText returns the text of the user's last message, or "". It ignores texts that Codex adds in
// the user's role.
func (r Request) UserText() string {
	for i := len(r.Input) - 1; i >= 0; i-- {
		if text, ok := userText(r.Input[i]); ok {
			return text
		}
	}
	return ""
}

// ToolOutputs returns the texts of tool results since the user's last message, oldest first.
func (r Request) ToolOutputs() []string {
	var outputs []string
	for _, raw := range r.Input {
		if _, ok := userText(raw); ok {
			outputs = nil
			continue
		}
		var item inputItem
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		switch item.Type {
		case "function_call_output", "custom_tool_call_output":
			outputs = append(outputs, text(item.Output))
		}
	}
	return outputs
}

// Contains reports whether the JSON of an item of the conversation contains s.
func (r Request) Contains(s string) bool {
	for _, raw := range r.Input {
		if strings.Contains(string(raw), s) {
			return true
		}
	}
	return false
}

// userText returns the text of an item if it is a message of the user.
func userText(raw json.RawMessage) (string, bool) {
	var item inputItem
	if json.Unmarshal(raw, &item) != nil || item.Type != "message" || item.Role != "user" {
		return "", false
	}
	t := text(item.Content)
	// Codex 0.171 adds these before, between and after the messages of the user.
	for _, tag := range []string{"<environment_context>", "<turn_aborted>", "<subagent_notification>"} {
		if strings.HasPrefix(t, tag) {
			return "", false
		}
	}
	return t, true
}

// text returns a string, or the joined texts of a list of content parts.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}
