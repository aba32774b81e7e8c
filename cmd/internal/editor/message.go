package editor

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Message is one line, as it was sent or received.
type Message struct {
	Index int  // place in the conversation, from 0
	Sent  bool // by the editor
	Raw   []byte

	// What the line holds, if it is a JSON object; else Bad is set.
	Bad    bool
	ID     json.RawMessage // nil: none, or null
	Method string          // empty: an answer
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// IsRequest reports whether the message asks for an answer.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message is a notification.
func (m Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsAnswer reports whether the message answers a request, or complains of a
// line that held none (then ID is nil).
func (m Message) IsAnswer() bool { return m.Method == "" && !m.Bad }

// Param is the member of params under the given keys, as JSON text; empty if
// there is none. A string comes without its quotes.
func (m Message) Param(path ...string) string { return member(m.Params, path) }

// member walks raw down path.
func member(raw json.RawMessage, path []string) string {
	for _, key := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return ""
		}
		raw = object[key]
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Member is the member of a JSON object under the given keys, as Param.
func Member(raw json.RawMessage, path ...string) string { return member(raw, path) }

// read fills the members of a message from its Raw.
func (m *Message) read() {
	var line struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}
	// null is no object, but json takes it for one.
	if err := json.Unmarshal(m.Raw, &line); err != nil || !bytes.Contains(m.Raw, []byte("{")) {
		m.Bad = true
		return
	}
	if string(line.ID) == "null" {
		line.ID = nil
	}
	m.ID, m.Method, m.Params, m.Result, m.Error = line.ID, line.Method, line.Params, line.Result, line.Error
}

// Error is an error answer, or the reason why there is no answer; then Code is
// 0 and Unwrap gives the cause.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`

	cause error
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// Unwrap is the cause of a missing answer: ErrGone or the error of a context.
func (e *Error) Unwrap() error { return e.cause }
