package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge.example/rpc"
)

// Decision is the decision in an answer to a hook.
type Decision string

// The decisions. [Answer.Encode] rejects one that does not fit the event.
const (
	NoOpinion Decision = ""
	Deny      Decision = "deny"   // pre_tool_use, permission_request
	Allow     Decision = "allow"  // permission_request
	Block     Decision = "block"  // post_tool_use: the model gets the reason in place of the output
	Revise    Decision = "revise" // stop: the model continues, with the reason as its prompt
	Finish    Decision = "finish" // stop: the turn ends
)

// Answer is the bridge's answer to one run of a hook.
type Answer struct {
	Decision Decision
	Reason   string
	// Input replaces the tool's input (pre_tool_use, unless denied). nil keeps the input.
	Input json.RawMessage
	// Context is added for the model to the result of a tool (post_tool_use).
	Context string
	// Declined marks the denial of a call that the user has declined. Codex does not get it.
	Declined bool
}

// AdviceForModel is the end of reasons that only the model gets.
const AdviceForModel = "Tell the user, and don't try another way."

// ReasonForUser returns the reason without AdviceForModel.
func (a Answer) ReasonForUser() string {
	return strings.TrimSpace(strings.TrimSuffix(a.Reason, AdviceForModel))
}

// defaultReason is the reason of a refusal that came without one. Codex ignores a denial
// without a reason (measured with 0.169).
const defaultReason = "codex-bridge refused this and gave no reason"

// FailureAnswer returns the answer for a failure: a denial if the event decides, else no
// opinion.
func FailureAnswer(e Event, reason string) Answer {
	return failureAnswer(e, "codex-bridge: "+reason)
}

// unansweredPrefix begins the reason of a denial by the process of a hook, which got no answer of the bridge.
const unansweredPrefix = "codex-bridge hook: "

// Unanswered returns why the process of a hook has denied a call without an answer of the bridge, by a text that Codex
// reports about the run; "" if it has not.
func Unanswered(text string) string {
	why, ok := strings.CutPrefix(text, unansweredPrefix)
	if !ok {
		return ""
	}
	return why
}

func failureAnswer(e Event, reason string) Answer {
	if !e.Decides() {
		return Answer{}
	}
	return Answer{Decision: Deny, Reason: reason}
}

// Codex's output format, by event. Codex ignores the whole output if it has an unknown
// member (measured with 0.169).
type (
	specificOutput[T any] struct {
		Output T `json:"hookSpecificOutput"`
	}
	preToolUse struct {
		Event    string          `json:"hookEventName"`
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Input    json.RawMessage `json:"updatedInput,omitempty"`
	}
	postToolUse struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
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

// Encode returns the line that Codex reads, with its newline, or nil for no opinion. It
// returns an error if the decision does not fit the event, if Input is not a JSON object,
// or if the event can't replace the input. A denial or a block without a reason gets a
// default one. A revision without a reason is no opinion.
func (a Answer) Encode(e Event) ([]byte, error) {
	reason := strings.TrimSpace(a.Reason)
	refusal := reason
	if refusal == "" {
		refusal = defaultReason
	}
	switch {
	case a.Decision == Deny && e == PreToolUse: // a denial ignores the input
		return encodeLine(specificOutput[preToolUse]{preToolUse{Event: e.Name(), Decision: "deny", Reason: refusal}})
	case a.Input != nil:
		return a.encodeUpdatedInput(e)
	case a.Decision == NoOpinion && a.Context != "" && e == PostToolUse:
		return encodeLine(specificOutput[postToolUse]{postToolUse{e.Name(), a.Context}})
	case a.Decision == NoOpinion && a.Context == "" && e.Name() != "":
		return nil, nil
	case a.Decision == Deny && e == PermissionRequest:
		return encodeLine(specificOutput[permissionRequest]{permissionRequest{e.Name(), behavior{"deny", refusal}}})
	case a.Decision == Allow && e == PermissionRequest:
		return encodeLine(specificOutput[permissionRequest]{permissionRequest{e.Name(), behavior{Behavior: "allow"}}})
	case a.Decision == Block && e == PostToolUse:
		if a.Context != "" {
			refusal += "\n" + a.Context
		}
		return encodeLine(block{"block", refusal})
	case a.Decision == Revise && e == Stop && reason == "":
		return nil, nil
	case a.Decision == Revise && e == Stop:
		return encodeLine(block{"block", reason})
	case a.Decision == Finish && e == Stop:
		return encodeLine(finish{false, reason})
	}
	return nil, fmt.Errorf("the decision %q does not fit the event %q", a.Decision, e)
}

// mustEncode encodes an answer of FailureAnswer, which fits the event.
func (a Answer) mustEncode(e Event) []byte {
	line, err := a.Encode(e)
	if err != nil {
		panic(fmt.Sprintf("hook: %v", err))
	}
	return line
}

// encodeUpdatedInput returns output that lets the tool run with another input. Codex 0.169
// requires the decision "allow" with it.
func (a Answer) encodeUpdatedInput(e Event) ([]byte, error) {
	if e != PreToolUse || a.Decision != NoOpinion {
		return nil, fmt.Errorf("an answer with the decision %q to the event %q can't replace the tool's input", a.Decision, e)
	}
	doc, err := rpc.ParseValue(a.Input)
	if err != nil {
		return nil, fmt.Errorf("the replacement input is not valid JSON: %w", err)
	}
	if kind := doc.Root().Kind(); kind != rpc.Object {
		return nil, fmt.Errorf("the replacement input is %s, not an object", kind)
	}
	return encodeLine(specificOutput[preToolUse]{preToolUse{Event: e.Name(), Decision: "allow", Input: a.Input}})
}

// encodeLine does not escape < and &, because people read the output in logs.
func encodeLine(output any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(output); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
