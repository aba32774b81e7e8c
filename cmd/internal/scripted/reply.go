package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Reply is what the model answers to one request: items, in order. Several
// calls in one reply are parallel tool calls.
type Reply []Item

// Item is one piece of a reply: Text, Call, CustomCall, Slow, Held or Fail.
type Item interface{ play(*stream) error }

// Text is an assistant message. It is streamed a word a delta.
type Text string

// Call is a function call.
type Call struct {
	Tool      string
	Namespace string          // empty: none
	Arguments json.RawMessage // nil: {}
	ID        string          // of the call; empty: a new one
}

// CustomCall is a call of a tool that takes free text, such as apply_patch.
type CustomCall struct {
	Tool  string
	Input string
	ID    string // of the call; empty: a new one
}

// Slow is an assistant message that begins at once and ends after For. When
// codex goes away first (an interrupt) the stream ends there.
type Slow struct{ For time.Duration }

// Held is Slow that ends when Until is closed: for a test or a demo that has to
// do something while the model still speaks.
type Held struct{ Until <-chan struct{} }

// Fail ends the response in an error. Status is the HTTP status of the whole
// answer, so that Fail must then be the only item; 0 means a response.failed
// event in a stream that began well.
type Fail struct {
	Status  int
	Message string
}

// Run is a shell command as codex's model writes it.
func Run(cmd string) Call {
	return Call{Tool: "exec_command", Arguments: marshal(map[string]any{"cmd": cmd})}
}

// Escalate is a shell command that the model wants to run outside the sandbox.
// It gives no justification: the approval that the client sees then looks like
// that of any other command (measured on 0.169.0).
func Escalate(cmd string) Call {
	return Call{Tool: "exec_command", Arguments: marshal(map[string]any{
		"cmd":                 cmd,
		"sandbox_permissions": "require_escalated",
	})}
}

// AddFile is a patch that creates one file.
func AddFile(path, body string) CustomCall {
	var b strings.Builder
	fmt.Fprintf(&b, "*** Begin Patch\n*** Add File: %s\n", path)
	for line := range strings.Lines(strings.TrimSuffix(body, "\n") + "\n") {
		b.WriteString("+" + line)
	}
	b.WriteString("*** End Patch\n")
	return CustomCall{Tool: "apply_patch", Input: b.String()}
}

// Ask is a question to the user with two answers to choose from. Outside plan
// mode codex offers the tool only with features.default_mode_request_user_input.
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

// marshal is json.Marshal for values that cannot fail.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
