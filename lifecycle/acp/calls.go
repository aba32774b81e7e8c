package acp

import (
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"
)

const (
	maxCalls     = 256       // announced calls of an agent; the oldest is forgotten
	maxCallBytes = 256 << 10 // of one announced call as JSON
)

// announcedCalls remembers the tool calls that an agent has announced. Its request for permission may
// name only the id of the call. A forgotten call, and a part of a call that is too large, is unknown.
// Not safe for concurrent use.
type announcedCalls struct {
	calls map[sdk.ToolCallId]announcedCall
	order []sdk.ToolCallId
}

// announcedCall is a call with all that the agent has said of it. incomplete reports that it was too much.
type announcedCall struct {
	sdk.ToolCallUpdate
	incomplete bool
}

// announce remembers a call as the agent begins it.
func (c *announcedCalls) announce(call sdk.SessionUpdateToolCall) {
	c.put(announcedCall{ToolCallUpdate: sdk.ToolCallUpdate{
		ToolCallId: call.ToolCallId, Kind: kindOf(call.Kind), Title: &call.Title, RawInput: call.RawInput, Content: call.Content, Locations: call.Locations,
	}})
}

// update remembers what the agent says more of a call.
func (c *announcedCalls) update(call sdk.SessionToolCallUpdate) {
	c.put(c.merge(sdk.ToolCallUpdate{
		ToolCallId: call.ToolCallId, Kind: call.Kind, Title: call.Title, RawInput: call.RawInput, Content: call.Content, Locations: call.Locations,
	}))
}

// kindOf returns the kind of a call, or nil if the agent does not say it.
func kindOf(kind sdk.ToolKind) *sdk.ToolKind {
	if kind == "" {
		return nil
	}
	return &kind
}

// put remembers a call in place of its earlier parts.
func (c *announcedCalls) put(call announcedCall) {
	if _, known := c.calls[call.ToolCallId]; !known {
		if c.calls == nil {
			c.calls = make(map[sdk.ToolCallId]announcedCall)
		}
		if len(c.order) == maxCalls {
			delete(c.calls, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, call.ToolCallId)
	}
	if text, err := json.Marshal(call.ToolCallUpdate); err != nil || len(text) > maxCallBytes {
		call = announcedCall{sdk.ToolCallUpdate{ToolCallId: call.ToolCallId}, true}
	}
	c.calls[call.ToolCallId] = call
}

// merge returns a call with the announced parts that it does not name, as the protocol has it.
func (c *announcedCalls) merge(call sdk.ToolCallUpdate) announcedCall {
	known := c.calls[call.ToolCallId]
	if call.Kind == nil {
		call.Kind = known.Kind
	}
	if call.Title == nil {
		call.Title = known.Title
	}
	if call.RawInput == nil {
		call.RawInput = known.RawInput
	}
	if call.Content == nil {
		call.Content = known.Content
	}
	if call.Locations == nil {
		call.Locations = known.Locations
	}
	return announcedCall{call, known.incomplete}
}
