package hook

import (
	"fmt"

	"codex-bridge/relay/hook/ask"
	"codex-bridge/rpc"
)

// What the description of a call may hold. Codex's own stay far below. (All texts
// together may have 4,000,000 bytes, which MaxPayload keeps them from.)
const (
	// MaxPayload is the most that Codex may say of one run, in bytes.
	MaxPayload = ask.MaxPayload

	maxDepth = 64 // objects and arrays inside each other
	maxNodes = 20_000
	maxText  = 1_000_000 // bytes of one text, a member's name included
)

// within tells whether a value keeps to the limits.
func within(v rpc.Value) error {
	nodes := 0
	return measure(v, 1, &nodes)
}

// measure does not go deeper than maxDepth, however deep the value is.
func measure(v rpc.Value, depth int, nodes *int) error {
	if *nodes++; *nodes > maxNodes {
		return fmt.Errorf("it holds more than %d values", maxNodes)
	}
	switch v.Kind() {
	case rpc.String:
		if text, _ := v.Text(); len(text) > maxText {
			return errText
		}
	case rpc.Object, rpc.Array:
		if depth > maxDepth {
			return fmt.Errorf("more than %d objects and arrays lie inside each other", maxDepth)
		}
	}
	for name, member := range v.Members() {
		if len(name) > maxText {
			return errText
		}
		if err := measure(member, depth+1, nodes); err != nil {
			return err
		}
	}
	for element := range v.Elements() {
		if err := measure(element, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

var errText = fmt.Errorf("a text in it is longer than %d bytes", maxText)
