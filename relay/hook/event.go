package hook

// Event is one of Codex's native hooks, written as in the keys of hooks.state in Codex's
// configuration and in hooks.events in the bridge's.
type Event string

// The events that the bridge relays.
const (
	PreToolUse        Event = "pre_tool_use"
	PostToolUse       Event = "post_tool_use"
	PermissionRequest Event = "permission_request"
	Stop              Event = "stop"
)

// Events lists the events in the order of Codex's configuration.
var Events = []Event{PreToolUse, PostToolUse, PermissionRequest, Stop}

var eventNames = map[Event]string{
	PreToolUse: "PreToolUse", PostToolUse: "PostToolUse", PermissionRequest: "PermissionRequest", Stop: "Stop",
}

// Name returns the event's name in Codex's configuration and in a hook's input and output.
// It is empty for an unknown event.
func (e Event) Name() string { return eventNames[e] }

// Decides reports whether the event allows or denies something. Without an answer, such an
// event is denied; the others only observe.
func (e Event) Decides() bool { return e == PreToolUse || e == PermissionRequest }
