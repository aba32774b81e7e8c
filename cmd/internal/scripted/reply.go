package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Reply is the model's answer to one request: items, in order. Several calls in one reply are
// parallel tool calls.
type Reply []Item

// Item is one part of a reply: Text, Call, CustomCall, Raw, Slow, Paused or Fail.
type Item interface{ play(*stream) error }

// Text is an assistant message, streamed with one word per delta.
type Text string

// Call is a function call.
type Call struct {
	Tool      string
	Namespace string          // empty: no namespace
	Arguments json.RawMessage // nil: {}
	ID        string          // of the call; empty: a new id
}

// CustomCall is a call of a tool with free text as input, such as apply_patch.
type CustomCall struct {
	Tool  string
	Input string
	ID    string // of the call; empty: a new id
}

// Raw is an item of the Responses API as it is, such as one that a model does not send.
type Raw map[string]any

// Slow is an assistant message that starts at once and ends after For, or when Codex closes the
// connection (an interrupt).
type Slow struct{ For time.Duration }

// Paused is a message that ends when Until is closed, so that a test or demo can act while the
// model writes.
type Paused struct{ Until <-chan struct{} }

// Fail ends the response with an error. Status is the HTTP status of the response, and Fail is then
// the only item; 0 means an event response.failed in the stream.
type Fail struct {
	Status  int
	Message string
}

// Run returns a shell command as Codex's model writes it.
func Run(cmd string) Call {
	return Call{Tool: "exec_command", Arguments: marshal(map[string]any{"cmd": cmd})}
}

// Escalate returns a shell command that the model wants to run outside the sandbox. It has no
// justification: the approval then looks like that of any other command (measured with 0.169.0).
func Escalate(cmd string) Call {
	return Call{Tool: "exec_command", Arguments: marshal(map[string]any{
		"cmd":                 cmd,
		"sandbox_permissions": "require_escalated",
	})}
}

// AddFile returns a patch that creates one file.
func AddFile(path, body string) CustomCall {
	var b strings.Builder
	fmt.Fprintf(&b, "*** Begin Patch\n*** Add File: %s\n", path)
	for line := range strings.Lines(strings.TrimSuffix(body, "\n") + "\n") {
		b.WriteString("+" + line)
	}
	b.WriteString("*** End Patch\n")
	return CustomCall{Tool: "apply_patch", Input: b.String()}
}

// Ask returns a question to the user with two options. Outside plan mode Codex offers the tool only
// with features.default_mode_request_user_input.
func Ask(question string) Call {
	return Call{Tool: "request_user_input", Arguments: marshal(map[string]any{
		"questions": []any{map[string]any{
			"id":       "choice",
			"header":   "Choice",
			"question": question,
			"options": []any{
				map[string]any{"label": "Yes (Recommended)", "description": "Go on."},
				map[string]any{"label": "No", "description": "Leave it."},
			},
		}},
	})}
}

// marshal is json.Marshal for values that can't fail.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
