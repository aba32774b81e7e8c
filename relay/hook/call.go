package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"codex-bridge.example/relay/hook/ask"
	"codex-bridge.example/rpc"
)

// Call describes one run of a hook: the JSON object that Codex writes to the process's
// stdin.
type Call struct {
	Event   Event           `json:"-"`
	Payload json.RawMessage `json:"-"` // the whole object

	SessionID      string          `json:"session_id"` // the thread; for a subagent, the root thread
	AgentID        string          `json:"agent_id"`   // a subagent's own thread; else empty
	TurnID         string          `json:"turn_id"`
	Cwd            string          `json:"cwd"`
	Model          string          `json:"model"`
	PermissionMode string          `json:"permission_mode"`
	TranscriptPath string          `json:"transcript_path"`
	ToolName       string          `json:"tool_name"` // Bash, apply_patch, mcp__SERVER__TOOL, or a dynamic tool's name
	ToolUseID      string          `json:"tool_use_id"`
	ToolInput      json.RawMessage `json:"tool_input"`
	ToolResponse   json.RawMessage `json:"tool_response"`
	StopHookActive bool            `json:"stop_hook_active"`
	LastMessage    string          `json:"last_assistant_message"`

	// Program is the program of the call that a question is about, with its words; "" if it is about the
	// whole call.
	Program string `json:"-"`

	// Unreadable is why the input can't be read; nil: it was. If it can't, the answer does not count: Codex
	// gets a [FailureAnswer]. Payload may be only the start of the input, and members may be missing.
	Unreadable error `json:"-"`
}

// Thread returns the thread that runs the hook.
func (c *Call) Thread() string {
	if c.AgentID != "" {
		return c.AgentID
	}
	return c.SessionID
}

// ParseCall parses the input of a hook for event e. It requires one JSON object, as strict
// as a protocol message and within the limits, whose hook_event_name is e. A blank payload
// is a call with only its event. Unknown members are ignored. The result does not alias
// payload.
func ParseCall(e Event, payload []byte) (*Call, error) {
	if e.Name() == "" {
		return nil, fmt.Errorf("unknown hook event %q", e)
	}
	if len(payload) > MaxPayload {
		return nil, errPayloadTooLong
	}
	if payload = bytes.TrimSpace(payload); len(payload) == 0 {
		return &Call{Event: e, Payload: json.RawMessage("{}")}, nil
	}
	payload = bytes.Clone(payload)
	doc, err := rpc.ParseValue(payload) // also rejects duplicate names at any depth
	if err != nil {
		return nil, fmt.Errorf("codex's hook input can't be read: %w", err)
	}
	m := memberReader{root: doc.Root()}
	if kind := m.root.Kind(); kind != rpc.Object {
		return nil, fmt.Errorf("codex's hook input is %s, not an object", kind)
	}
	if err := checkLimits(m.root); err != nil {
		return nil, fmt.Errorf("codex's hook input can't be read: %w", err)
	}
	if name := m.text("hook_event_name"); m.err == nil && name != e.Name() {
		return nil, fmt.Errorf("codex's hook input has the event %q, but codex started the hook of %s", name, e.Name())
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
		StopHookActive: m.boolean("stop_hook_active"),
		LastMessage:    m.text("last_assistant_message"),
	}
	if m.err != nil {
		return nil, m.err
	}
	return call, nil
}

// parseInput is [ParseCall]. If the input is too long, payload is only its head.
func parseInput(e Event, payload []byte, tooLong bool) (*Call, error) {
	if tooLong {
		return nil, errPayloadTooLong
	}
	return ParseCall(e, payload)
}

// unreadableCall describes a call whose input can't be read, by the texts before the first member
// that is incomplete or not valid. Codex writes the thread, the turn and the tool's name before the
// tool's input.
func unreadableCall(e Event, payload []byte, why error) *Call {
	call := &Call{Event: e, Payload: bytes.Clone(payload), Unreadable: why}
	texts := map[string]*string{
		"session_id": &call.SessionID, "agent_id": &call.AgentID, "turn_id": &call.TurnID, "tool_name": &call.ToolName, "tool_use_id": &call.ToolUseID,
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return call
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		key, _ := name.(string)
		if at := texts[key]; at != nil && *at == "" {
			_ = json.Unmarshal(value, at) // a value that is no text leaves it empty
		}
	}
	return call
}

var errPayloadTooLong = fmt.Errorf("codex's hook input is longer than %d bytes; %s", MaxPayload, splitHint)

// splitHint tells the model how to avoid a limit.
const splitHint = "split the patch or the call into smaller ones"

// errNoToolName rejects a call that can't be decided without the tool's name.
var errNoToolName = errors.New("codex's hook input does not name the tool")

// memberReader reads members of an object and keeps the first error.
type memberReader struct {
	root rpc.Value
	err  error
}

// text returns a string member; null, as transcript_path may be, is "".
func (m *memberReader) text(name string) string {
	v := m.root.Get(name)
	text, ok := v.Text()
	if !ok {
		m.expect(name, v, rpc.String)
	}
	return text
}

func (m *memberReader) boolean(name string) bool {
	v := m.root.Get(name)
	truth, ok := v.Bool()
	if !ok {
		m.expect(name, v, rpc.Bool)
	}
	return truth
}

func (m *memberReader) expect(name string, v rpc.Value, want rpc.Kind) {
	if kind := v.Kind(); m.err == nil && kind != rpc.Absent && kind != rpc.Null {
		m.err = fmt.Errorf("codex's hook input has %s where %s is %s", kind, name, want)
	}
}

// Limits of a hook's input.
const (
	// MaxPayload is the maximum length of a hook's input in bytes.
	MaxPayload = ask.MaxPayload

	maxDepth = 64 // nested objects and arrays
	maxNodes = 20_000
)

// checkLimits returns an error if a value exceeds the limits.
func checkLimits(v rpc.Value) error {
	nodes := 0
	return checkValue(v, 1, &nodes)
}

// checkValue recurses no deeper than maxDepth, even if the value is deeper.
func checkValue(v rpc.Value, depth int, nodes *int) error {
	if *nodes++; *nodes > maxNodes {
		return fmt.Errorf("it holds more than %d values; %s", maxNodes, splitHint)
	}
	if kind := v.Kind(); depth > maxDepth && (kind == rpc.Object || kind == rpc.Array) {
		return fmt.Errorf("objects and arrays are nested more than %d deep", maxDepth)
	}
	for _, member := range v.Members() {
		if err := checkValue(member, depth+1, nodes); err != nil {
			return err
		}
	}
	for element := range v.Elements() {
		if err := checkValue(element, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}
