package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge/rpc"
)

// unsaid is the reason of a refusal that came without one: Codex takes a denial that
// gives none for no answer (measured).
const unsaid = "codex-bridge refused this and gave no reason"

// Failed is the answer where none can be had: no, from what decides.
func Failed(e Event, reason string) Answer {
	if !e.Decides() {
		return Answer{}
	}
	return Answer{Decision: Deny, Reason: "codex-bridge: " + reason}
}

// What Codex reads, by event. It is strict: a member that it does not know makes the
// whole answer count for nothing (measured).
type (
	specific[T any] struct {
		Output T `json:"hookSpecificOutput"`
	}
	preToolUse struct {
		Event    string          `json:"hookEventName"`
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Input    json.RawMessage `json:"updatedInput,omitempty"`
	}
	permissionRequest struct {
		Event    string   `json:"hookEventName"`
		Decision behavior `json:"decision"`
	}
	behavior struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message,omitempty"`
	}
	block struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	}
	finish struct {
		Continue bool   `json:"continue"`
		Reason   string `json:"stopReason,omitempty"`
	}
)

// Output is the line that Codex reads, with its end; nil says nothing. A decision that
// the event does not know is an error, and so is an input that is no JSON object or
// stands where none can be replaced. A refusal without a reason is given one; to go
// on without a reason is to say nothing.
func (a Answer) Output(e Event) ([]byte, error) {
	reason := strings.TrimSpace(a.Reason)
	refusal := reason
	if refusal == "" {
		refusal = unsaid
	}
	switch {
	case a.Decision == Deny && e == PreToolUse: // whatever the input would have been
		return line(specific[preToolUse]{preToolUse{Event: e.Name(), Decision: "deny", Reason: refusal}})
	case a.Input != nil:
		return a.rewritten(e)
	case a.Decision == NoOpinion && e.Name() != "":
		return nil, nil
	case a.Decision == Deny && e == PermissionRequest:
		return line(specific[permissionRequest]{permissionRequest{e.Name(), behavior{"deny", refusal}}})
	case a.Decision == Allow && e == PermissionRequest:
		return line(specific[permissionRequest]{permissionRequest{e.Name(), behavior{Behavior: "allow"}}})
	case a.Decision == Block && e == PostToolUse:
		return line(block{"block", refusal})
	case a.Decision == Revise && e == Stop && reason == "":
		return nil, nil
	case a.Decision == Revise && e == Stop:
		return line(block{"block", reason})
	case a.Decision == Finish && e == Stop:
		return line(finish{false, reason})
	}
	return nil, fmt.Errorf("%q is no answer to %q", a.Decision, e)
}

// rewritten lets a tool run with another input: Codex 0.169 wants the allow with it.
func (a Answer) rewritten(e Event) ([]byte, error) {
	if e != PreToolUse || a.Decision != NoOpinion {
		return nil, fmt.Errorf("%q to %q can't replace a tool's input", a.Decision, e)
	}
	doc, err := rpc.ParseValue(a.Input)
	if err != nil {
		return nil, fmt.Errorf("the input to be put in place is not JSON: %w", err)
	}
	if kind := doc.Root().Kind(); kind != rpc.Object {
		return nil, fmt.Errorf("the input to be put in place is %s, not an object", kind)
	}
	return line(specific[preToolUse]{preToolUse{Event: e.Name(), Decision: "allow", Input: a.Input}})
}

// line leaves < and & as they are: people read it in logs.
func line(output any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(output); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
