package methods

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// HookTable is the text of hooks.txt: one row for each hook event of the supported releases of Codex.
//
//go:embed hooks.txt
var HookTable string

// HookEvent is a row of HookTable.
type HookEvent struct {
	Event   string // as in hooks.state of Codex's configuration: "pre_tool_use"
	Name    string // as in hooks of Codex's configuration: "PreToolUse"
	Relayed Relay
	Since   string // as in Row
	Until   string
	Why     string
}

// Relay is what the bridge does with a hook event.
type Relay string

// The values of Relay.
const (
	Decides    Relay = "decides"  // an answer allows or denies; without one the bridge denies
	Observes   Relay = "observes" // a call without an answer goes on
	NotRelayed Relay = "no"       // the bridge installs no such hook
)

// HookEvents returns the rows of HookTable, those that the bridge relays in the order of Codex's configuration. The
// caller must not change them.
var HookEvents = sync.OnceValue(func() []HookEvent {
	list, err := parseHooks(HookTable)
	if err != nil {
		panic(err) // a test parses the table
	}
	return list
})

func parseHooks(text string) ([]HookEvent, error) {
	var list []HookEvent
	err := EachRow("hooks.txt", text, 6, func(row []string) error {
		e := HookEvent{row[0], row[1], Relay(row[2]), row[3], row[4], row[5]}
		if !slices.Contains([]Relay{Decides, Observes, NotRelayed}, e.Relayed) {
			return fmt.Errorf("it is relayed %q", e.Relayed)
		}
		list = append(list, e)
		return nil
	})
	return list, err
}

// RelayedEvents returns the events that the bridge relays, in the order of the table.
func RelayedEvents() (events []string) {
	for _, e := range HookEvents() {
		if e.Relayed != NotRelayed {
			events = append(events, e.Event)
		}
	}
	return events
}

// SchemaName returns the event as Codex's schema writes it: "preToolUse".
func (e HookEvent) SchemaName() string { return strings.ToLower(e.Name[:1]) + e.Name[1:] }

// String returns the event as a row of HookTable, without the line break.
func (e HookEvent) String() string {
	return joinCells(e.Event, e.Name, string(e.Relayed), e.Since, e.Until, e.Why)
}
