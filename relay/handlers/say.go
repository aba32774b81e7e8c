package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	strict "github.com/go-json-experiment/json"

	"codex-bridge/relay/hook"
)

// said is the answer of a client.
type said struct {
	Decision string          `json:"decision"`
	Reason   string          `json:"reason"`
	Retry    *retry          `json:"retry"`
	Input    json.RawMessage `json:"input"`
}

// known are the decisions of each event.
var known = map[hook.Event][]hook.Decision{
	hook.PreToolUse:        {hook.Deny},
	hook.PermissionRequest: {hook.Allow, hook.Deny},
	hook.PostToolUse:       {hook.Block},
	hook.Stop:              {hook.Revise, hook.Finish},
}

// fromClient reads the result of bridge/hook.
func fromClient(event hook.Event, text []byte) (opinion, error) {
	var s said
	if err := read(text, &s); err != nil {
		return opinion{}, err
	}
	return s.opinion(event)
}

// read is strict: what is misspelt was meant to say something.
func read(text []byte, into any) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if text[0] != '{' {
		return errors.New("its answer is no JSON object")
	}
	if err := strict.Unmarshal(text, into, strict.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("its answer can't be read: %w", err)
	}
	return nil
}

func (s said) opinion(event hook.Event) (opinion, error) {
	if string(s.Input) == "null" {
		s.Input = nil
	}
	decision := hook.Decision(s.Decision)
	switch {
	case decision == hook.NoOpinion && strings.TrimSpace(s.Reason) != "":
		return opinion{}, errors.New("its answer has a reason and no decision")
	case decision != hook.NoOpinion && !slices.Contains(known[event], decision):
		return opinion{}, fmt.Errorf("its decision %q is none that %s knows", clip(s.Decision, 100), event.Name())
	case s.Input != nil && (event != hook.PreToolUse || decision != hook.NoOpinion):
		return opinion{}, errors.New("it rewrote the input where that is not possible: only before a tool is used, and without a denial")
	case s.Retry == nil:
	case decision != hook.Revise:
		return opinion{}, errors.New("its answer has a retry without the decision to revise")
	case strings.TrimSpace(s.Retry.Instruction) == "":
		return opinion{}, errors.New("its retry has no instruction")
	case s.Retry.attempts() < 1:
		return opinion{}, errors.New("the maxAttempts of its retry is less than 1")
	}
	reason := strings.TrimSpace(s.Reason)
	if s.Retry != nil {
		reason = strings.TrimSpace(reason + "\n\n" + strings.TrimSpace(s.Retry.Instruction))
	}
	if decision == hook.Revise && reason == "" {
		decision = hook.NoOpinion // there is nothing to go on with
	}
	return opinion{hook.Answer{Decision: decision, Reason: clip(reason, maxReason), Input: s.Input}, s.Retry}, nil
}

// clip shortens a text to n bytes, at a character's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
