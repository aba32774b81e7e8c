package grants

import "codex-bridge/bridge/store"

// Span is how long an approval is remembered; the values of approvals.remember.
type Span string

// The spans.
const (
	Off     Span = "off"
	Session Span = "session" // as long as the bridge runs, for the session
	Always  Span = "always"  // in the store, for the workspace
)

// Grant is an approval that is remembered.
type Grant struct {
	store.Grant
	Remember Span `json:"remember"`
}

// Origin is who allowed it, for people.
type Origin struct {
	Client string // its name and version
	What   string // the command, the tool's arguments: what a list shows
}
