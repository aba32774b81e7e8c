package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"codex-bridge/rpc"
)

// ParseCall reads what Codex writes to the process of a hook: one JSON object, as
// strictly as a message of the wire, within the limits, and of the event that it is
// read for. A blank text is a call of which nothing is said; members that are not
// known are left alone. The call does not alias the text.
func ParseCall(e Event, payload []byte) (*Call, error) {
	if e.Name() == "" {
		return nil, fmt.Errorf("%q is no event of a hook", e)
	}
	if len(payload) > MaxPayload {
		return nil, errTooLong
	}
	if payload = bytes.TrimSpace(payload); len(payload) == 0 {
		return &Call{Event: e, Payload: json.RawMessage("{}")}, nil
	}
	payload = bytes.Clone(payload)
	doc, err := rpc.ParseValue(payload) // no name twice, at any depth
	if err != nil {
		return nil, fmt.Errorf("what codex says of the call can't be read: %w", err)
	}
	m := members{root: doc.Root()}
	if kind := m.root.Kind(); kind != rpc.Object {
		return nil, fmt.Errorf("what codex says of the call is %s, not an object", kind)
	}
	if err := within(m.root); err != nil {
		return nil, fmt.Errorf("what codex says of the call can't be read: %w", err)
	}
	if name := m.text("hook_event_name"); m.wrong == nil && name != e.Name() {
		return nil, fmt.Errorf("codex says that the event is %q, and starts the hook of %s", name, e.Name())
	}
	call := &Call{
		Event:          e,
		Payload:        payload,
		SessionID:      m.text("session_id"),
		AgentID:        m.text("agent_id"),
		TurnID:         m.text("turn_id"),
		Cwd:            m.text("cwd"),
		Model:          m.text("model"),
		PermissionMode: m.text("permission_mode"),
		TranscriptPath: m.text("transcript_path"),
		ToolName:       m.text("tool_name"),
		ToolUseID:      m.text("tool_use_id"),
		ToolInput:      m.root.Get("tool_input").Raw(),
		ToolResponse:   m.root.Get("tool_response").Raw(),
		StopHookActive: m.truth("stop_hook_active"),
		LastMessage:    m.text("last_assistant_message"),
	}
	if m.wrong != nil {
		return nil, m.wrong
	}
	return call, nil
}

var errTooLong = fmt.Errorf("what codex says of the call is longer than %d bytes", MaxPayload)

// errNoTool is a call that can't be judged.
var errNoTool = errors.New("codex does not say which tool is called")

// members reads an object, and keeps the first thing that is wrong with it.
type members struct {
	root  rpc.Value
	wrong error
}

// text is a text; what is null, as transcript_path may be, is empty.
func (m *members) text(name string) string {
	v := m.root.Get(name)
	text, ok := v.Text()
	if !ok {
		m.expect(name, v, rpc.String)
	}
	return text
}

func (m *members) truth(name string) bool {
	v := m.root.Get(name)
	truth, ok := v.Bool()
	if !ok {
		m.expect(name, v, rpc.Bool)
	}
	return truth
}

func (m *members) expect(name string, v rpc.Value, want rpc.Kind) {
	if kind := v.Kind(); m.wrong == nil && kind != rpc.Absent && kind != rpc.Null {
		m.wrong = fmt.Errorf("codex says %s where %s is %s", kind, name, want)
	}
}
