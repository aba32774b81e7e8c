package hook

import (
	"slices"
	"sync"

	"codex-bridge.example/bridge/methods"
)

// Event is one of Codex's native hooks, written as in the keys of hooks.state in Codex's
// configuration and in hooks.events in the bridge's.
type Event string

// The events that the bridge relays. methods.HookEvents has their names, and whether they decide.
const (
	PreToolUse        Event = "pre_tool_use"
	PostToolUse       Event = "post_tool_use"
	PermissionRequest Event = "permission_request"
	Stop              Event = "stop"
)

// Events returns the events that the bridge relays, in the order of Codex's configuration. The
// caller must not change them.
var Events = sync.OnceValue(func() []Event {
	var events []Event
	for _, e := range methods.RelayedEvents() {
		events = append(events, Event(e))
	}
	return events
})

// row returns the row of a relayed event; the zero value for another.
func (e Event) row() methods.HookEvent {
	rows := methods.HookEvents()
	at := slices.IndexFunc(rows, func(row methods.HookEvent) bool { return row.Event == string(e) })
	if at < 0 || rows[at].Relayed == methods.NotRelayed {
		return methods.HookEvent{}
	}
	return rows[at]
}

// Name returns the event's name in Codex's configuration and in a hook's input and output.
// It is empty for an event that the bridge does not relay.
func (e Event) Name() string { return e.row().Name }

// Decides reports whether the event allows or denies something. Without an answer, such an
// event is denied; the others only observe.
func (e Event) Decides() bool { return e.row().Relayed == methods.Decides }
