package hook

// Event is a native hook of Codex that the bridge relays, by the label that Codex
// uses in the keys of hooks.state and the contract uses in hooks.events.
type Event string

// The events.
const (
	PreToolUse        Event = "pre_tool_use"
	PostToolUse       Event = "post_tool_use"
	PermissionRequest Event = "permission_request"
	Stop              Event = "stop"
)

// Events in the order in which Codex's configuration names them.
var Events = []Event{PreToolUse, PostToolUse, PermissionRequest, Stop}

var names = map[Event]string{
	PreToolUse: "PreToolUse", PostToolUse: "PostToolUse", PermissionRequest: "PermissionRequest", Stop: "Stop",
}

// Name is the event as Codex's configuration and a hook's input and output write it.
func (e Event) Name() string { return names[e] }

// Decides tells whether the event lets something happen or not: where no answer can
// be had, the answer is no. The others only look on.
func (e Event) Decides() bool { return e == PreToolUse || e == PermissionRequest }
