package handlers

import (
	"encoding/json"
	"errors"
	"fmt"

	"codex-bridge/relay/hook"
)

// output is the answer of a handler: that of a client, or what Codex itself reads
// from a hook, so that a script made for Codex is a handler as it is.
type output struct {
	said

	Continue       *bool     `json:"continue"`
	StopReason     string    `json:"stopReason"`
	SuppressOutput bool      `json:"suppressOutput"`
	SystemMessage  string    `json:"systemMessage"` // for the person; not relayed
	Specific       *specific `json:"hookSpecificOutput"`
}

type specific struct {
	HookEventName string `json:"hookEventName"`

	PermissionDecision       string          `json:"permissionDecision"` // PreToolUse
	PermissionDecisionReason string          `json:"permissionDecisionReason"`
	UpdatedInput             json.RawMessage `json:"updatedInput"`

	Decision *behavior `json:"decision"` // PermissionRequest

	AdditionalContext    string          `json:"additionalContext"`    // not relayed
	UpdatedMCPToolOutput json.RawMessage `json:"updatedMCPToolOutput"` // Codex refuses it, too
}

type behavior struct {
	Behavior           string          `json:"behavior"`
	Message            string          `json:"message"`
	Interrupt          bool            `json:"interrupt"` // Codex refuses these three, too
	UpdatedInput       json.RawMessage `json:"updatedInput"`
	UpdatedPermissions json.RawMessage `json:"updatedPermissions"`
}

// fromHandler reads what a handler has printed.
func fromHandler(event hook.Event, text []byte) (opinion, error) {
	var o output
	if err := read(text, &o); err != nil {
		return opinion{}, err
	}
	if err := o.translate(event); err != nil {
		return opinion{}, err
	}
	return o.opinion(event)
}

// translate puts Codex's words in ours. What Codex does not act on, and what a
// Chain can't pass on to it, is an error: a script must not believe that it was
// heard.
func (o *output) translate(event hook.Event) error {
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
			return errors.New("its answer has both a decision and continue:false")
		case event == hook.Stop:
			o.Decision, o.Reason = string(hook.Finish), o.StopReason
		case event == hook.PostToolUse:
			if o.Decision = string(hook.Block); o.Reason == "" {
				o.Reason = o.StopReason
			}
		default:
			return fmt.Errorf("continue:false is nothing that %s knows", event.Name())
		}
	}
	if o.Specific != nil {
		return o.specific(event)
	}
	return nil
}

func (o *output) specific(event hook.Event) error {
	s := o.Specific
	switch {
	case s.HookEventName != event.Name():
		return fmt.Errorf("its hookSpecificOutput is for %q, and this is %s", clip(s.HookEventName, 100), event.Name())
	case s.AdditionalContext != "":
		return errors.New("additionalContext is not supported")
	case given(s.UpdatedMCPToolOutput):
		return errors.New("updatedMCPToolOutput is not supported")
	}
	if s.PermissionDecision != "" || s.PermissionDecisionReason != "" || given(s.UpdatedInput) {
		if err := o.before(event); err != nil {
			return err
		}
	}
	if s.Decision != nil {
		return o.permission(event)
	}
	return nil
}

func (o *output) before(event hook.Event) error {
	s := o.Specific
	switch {
	case event != hook.PreToolUse:
		return fmt.Errorf("permissionDecision is nothing that %s knows", event.Name())
	case o.Decision != "" || given(o.Input):
		return errors.New("its answer decides twice")
	case s.PermissionDecision == "deny" && !given(s.UpdatedInput):
		o.Decision, o.Reason = string(hook.Deny), s.PermissionDecisionReason
	case s.PermissionDecision == "allow" && given(s.UpdatedInput):
		o.Input = s.UpdatedInput // the reason is for nobody then
	default:
		return fmt.Errorf("its permissionDecision %q is not supported: deny, or allow with updatedInput; to allow, print nothing",
			clip(s.PermissionDecision, 100))
	}
	return nil
}

func (o *output) permission(event hook.Event) error {
	d := o.Specific.Decision
	switch {
	case event != hook.PermissionRequest:
		return fmt.Errorf("hookSpecificOutput.decision is nothing that %s knows", event.Name())
	case o.Decision != "":
		return errors.New("its answer decides twice")
	case d.Interrupt, given(d.UpdatedInput), given(d.UpdatedPermissions):
		return errors.New("interrupt, updatedInput and updatedPermissions are not supported in a PermissionRequest")
	case d.Behavior != string(hook.Allow) && d.Behavior != string(hook.Deny):
		return fmt.Errorf("its behavior %q is neither allow nor deny", clip(d.Behavior, 100))
	}
	o.Decision, o.Reason = d.Behavior, d.Message
	return nil
}

func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }
