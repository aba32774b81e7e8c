package guard

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
)

// Notice is a sentence for a user. A client shows the sentence of each Key once.
type Notice struct{ Key, Text string }

// Notices returns what a client that shows text tells its user of a decision: a refusal, or what the policy took
// away. The refusal of a client's own request is not one of them, since the client has it as the error.
func (a Applied) Notices() []Notice {
	switch {
	case a.Verdict == policy.Deny && a.Error != nil && !a.isErrorOfRequest():
		text := a.refusal()
		key := text
		if a.ItemID != "" { // the hook and the question of one call may both be refused
			key = a.ThreadID + " " + a.TurnID + " " + a.ItemID
		}
		return []Notice{{"refused " + key, text}}
	case a.Verdict != policy.Rewrite:
		return nil
	}
	var all []Notice
	for _, change := range a.Changes {
		if kind, text := change.Notice(); kind != "" {
			kind = strings.Replace(kind, "sandboxPolicy", "sandbox", 1) // the turns of a thread have the same change
			all = append(all, Notice{"changed " + kind, text})
		}
	}
	return all
}

// isErrorOfRequest reports whether the decision refuses a request of the client.
func (a Applied) isErrorOfRequest() bool {
	_, isCodexs := methods.Lookup(methods.ServerRequest, a.Method)
	return len(a.ID) > 0 && !isCodexs && a.Method != "answer"
}

// interrupting are the methods of decisions by which the bridge interrupts a turn.
var interrupting = []string{"hook/completed", "item/started", "turn/interrupt"}

// refusal returns the sentence about a refusal.
func (a Applied) refusal() string {
	switch {
	case slices.Contains(interrupting, a.Method):
		return "codex-bridge has interrupted the turn: " + a.Error.Sentence()
	case strings.TrimSpace(a.What) == "" && a.Method == elicitation:
		return "codex-bridge has declined a question about an MCP server: " + a.Error.Sentence()
	case a.Method == "answer":
		return "codex-bridge has refused an answer: " + a.Error.Sentence()
	}
	return refusedCall(a.What, a.Error.Sentence())
}

// refusedCall returns the sentence about a refused call. subject is its command, files or tool; "" if unknown.
func refusedCall(subject, reason string) string {
	shown := "a tool call"
	if strings.TrimSpace(subject) != "" {
		shown = display.Excerpt(subject)
	}
	return "codex-bridge has refused " + shown + ": " + reason
}
