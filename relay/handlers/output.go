package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/relay/hook"
)

// handlerOutput is a handler's output: a clientOutput, or the output that Codex reads from
// a hook, so that scripts written for Codex work unchanged.
type handlerOutput struct {
	clientOutput

	Continue       *bool           `json:"continue"`
	StopReason     string          `json:"stopReason"`
	SuppressOutput bool            `json:"suppressOutput"`
	SystemMessage  string          `json:"systemMessage"` // for the user; not relayed
	Specific       *specificOutput `json:"hookSpecificOutput"`
}

type specificOutput struct {
	HookEventName string `json:"hookEventName"`

	PermissionDecision       string          `json:"permissionDecision"` // PreToolUse
	PermissionDecisionReason string          `json:"permissionDecisionReason"`
	UpdatedInput             json.RawMessage `json:"updatedInput"`

	Decision *behavior `json:"decision"` // PermissionRequest

	AdditionalContext    string          `json:"additionalContext"`    // not relayed
	UpdatedMCPToolOutput json.RawMessage `json:"updatedMCPToolOutput"` // Codex rejects it too
}

type behavior struct {
	Behavior           string          `json:"behavior"`
	Message            string          `json:"message"`
	Interrupt          bool            `json:"interrupt"` // Codex rejects this and the next two too
	UpdatedInput       json.RawMessage `json:"updatedInput"`
	UpdatedPermissions json.RawMessage `json:"updatedPermissions"`
}

// parseHandlerOutput parses a handler's stdout. A null is an error: a script may print it for a decision that it did
// not find.
func parseHandlerOutput(event hook.Event, text []byte) (opinion, error) {
	var o handlerOutput
	if err := unmarshalStrict(text, &o); err != nil {
		return opinion{}, err
	}
	if err := o.normalize(event); err != nil {
		return opinion{}, err
	}
	return o.opinion(event)
}

// normalize converts Codex's members to the bridge's. A member that Codex ignores, or that
// the bridge can't pass on, is an error: otherwise a script would believe that it has an
// effect.
func (o *handlerOutput) normalize(event hook.Event) error {
	switch {
	case o.SuppressOutput:
		return errors.New("suppressOutput is not supported")
	case o.Decision == "block" && event == hook.PreToolUse:
		o.Decision = string(hook.Deny)
	case o.Decision == "block" && event == hook.Stop:
		o.Decision = string(hook.Revise)
	}
	if o.Continue != nil && !*o.Continue {
		switch {
		case o.Decision != "":
			return errors.New("its output has both a decision and continue:false")
		case event == hook.Stop:
			o.Decision, o.Reason = string(hook.Finish), o.StopReason
		case event == hook.PostToolUse:
			if o.Decision = string(hook.Block); o.Reason == "" {
				o.Reason = o.StopReason
			}
		default:
			return fmt.Errorf("continue:false is not valid for %s", event.Name())
		}
	}
	if o.Specific != nil {
		return o.applySpecific(event)
	}
	return nil
}

func (o *handlerOutput) applySpecific(event hook.Event) error {
	s := o.Specific
	switch {
	case s.HookEventName != event.Name():
		return fmt.Errorf("its hookSpecificOutput is for %q, not for %s", display.ClipTo(s.HookEventName, 100), event.Name())
	case s.AdditionalContext != "":
		return errors.New("additionalContext is not supported")
	case isSet(s.UpdatedMCPToolOutput):
		return errors.New("updatedMCPToolOutput is not supported")
	}
	if s.PermissionDecision != "" || s.PermissionDecisionReason != "" || isSet(s.UpdatedInput) {
		if err := o.applyPreToolUse(event); err != nil {
			return err
		}
	}
	if s.Decision != nil {
		return o.applyPermissionRequest(event)
	}
	return nil
}

func (o *handlerOutput) applyPreToolUse(event hook.Event) error {
	s := o.Specific
	switch {
	case event != hook.PreToolUse:
		return fmt.Errorf("permissionDecision is not valid for %s", event.Name())
	case o.Decision != "" || isSet(o.Input):
		return errors.New("its output has two decisions")
	case s.PermissionDecision == "deny" && !isSet(s.UpdatedInput):
		o.Decision, o.Reason = string(hook.Deny), s.PermissionDecisionReason
	case s.PermissionDecision == "allow" && isSet(s.UpdatedInput):
		o.Input = s.UpdatedInput // Codex does not use the reason of an allow
	default:
		return fmt.Errorf("its permissionDecision %q is not supported; use deny, or allow with updatedInput, or print nothing to allow",
			display.ClipTo(s.PermissionDecision, 100))
	}
	return nil
}

func (o *handlerOutput) applyPermissionRequest(event hook.Event) error {
	d := o.Specific.Decision
	switch {
	case event != hook.PermissionRequest:
		return fmt.Errorf("hookSpecificOutput.decision is not valid for %s", event.Name())
	case o.Decision != "":
		return errors.New("its output has two decisions")
	case d.Interrupt, isSet(d.UpdatedInput), isSet(d.UpdatedPermissions):
		return errors.New("interrupt, updatedInput and updatedPermissions are not supported in a PermissionRequest")
	case d.Behavior != string(hook.Allow) && d.Behavior != string(hook.Deny):
		return fmt.Errorf("its behavior %q is neither allow nor deny", display.ClipTo(d.Behavior, 100))
	}
	o.Decision, o.Reason = d.Behavior, d.Message
	return nil
}

func isSet(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// clientOutput is the result of bridge/hook.
type clientOutput struct {
	Decision string          `json:"decision"`
	Reason   string          `json:"reason"`
	Retry    *retry          `json:"retry"`
	Input    json.RawMessage `json:"input"`
}

// knownDecisions are the decisions of each event.
var knownDecisions = map[hook.Event][]hook.Decision{
	hook.PreToolUse:        {hook.Deny},
	hook.PermissionRequest: {hook.Allow, hook.Deny},
	hook.PostToolUse:       {hook.Block},
	hook.Stop:              {hook.Revise, hook.Finish},
}

// parseClientOutput parses the result of bridge/hook.
func parseClientOutput(event hook.Event, text []byte) (opinion, error) {
	var s clientOutput
	if string(bytes.TrimSpace(text)) == "null" {
		return opinion{}, nil // many clients answer so without a handler
	}
	if err := unmarshalStrict(text, &s); err != nil {
		return opinion{}, err
	}
	return s.opinion(event)
}

// unmarshalStrict rejects unknown members, because a misspelt one was meant to have an
// effect.
func unmarshalStrict(text []byte, into any) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	if text[0] != '{' {
		return errors.New("its output is not a JSON object")
	}
	if err := strict.Unmarshal(text, into, strict.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("its output can't be read: %w", err)
	}
	return nil
}

func (s clientOutput) opinion(event hook.Event) (opinion, error) {
	if string(s.Input) == "null" {
		s.Input = nil
	}
	decision := hook.Decision(s.Decision)
	switch {
	case decision == hook.NoOpinion && strings.TrimSpace(s.Reason) != "":
		return opinion{}, errors.New("its output has a reason and no decision")
	case decision != hook.NoOpinion && !slices.Contains(knownDecisions[event], decision):
		return opinion{}, fmt.Errorf("its decision %q is not valid for %s", display.ClipTo(s.Decision, 100), event.Name())
	case s.Input != nil && (event != hook.PreToolUse || decision != hook.NoOpinion):
		return opinion{}, errors.New("it rewrote the input, which only PreToolUse can do, and only without a denial")
	case s.Retry == nil:
	case decision != hook.Revise:
		return opinion{}, errors.New("its output has a retry without the decision revise")
	case strings.TrimSpace(s.Retry.Instruction) == "":
		return opinion{}, errors.New("its retry has no instruction")
	case s.Retry.maxAttempts() < 1:
		return opinion{}, errors.New("the maxAttempts of its retry is less than 1")
	}
	reason := strings.TrimSpace(s.Reason)
	if s.Retry != nil {
		reason = strings.TrimSpace(reason + "\n\n" + strings.TrimSpace(s.Retry.Instruction))
	}
	if decision == hook.Revise && reason == "" {
		decision = hook.NoOpinion // Codex continues only with a reason
	}
	return opinion{hook.Answer{Decision: decision, Reason: display.ClipTo(reason, maxReason), Input: s.Input}, s.Retry}, nil
}
