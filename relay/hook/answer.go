package hook

import "encoding/json"

// Decision is what is answered to a hook.
type Decision string

// The decisions. Which of them an event knows, Output tells.
const (
	NoOpinion Decision = ""
	Deny      Decision = "deny"   // pre_tool_use, permission_request
	Allow     Decision = "allow"  // permission_request
	Block     Decision = "block"  // post_tool_use: the model sees the reason in place of the output
	Revise    Decision = "revise" // stop: the model goes on, with the reason
	Finish    Decision = "finish" // stop: the turn ends
)

// Answer is what a hook is answered.
type Answer struct {
	Decision Decision `json:"decision,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	// Input replaces the tool's input (pre_tool_use without a denial); nil: as it was.
	Input json.RawMessage `json:"input,omitempty"`
}
