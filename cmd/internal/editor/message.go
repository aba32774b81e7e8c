package editor

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Message is one line as sent or received.
type Message struct {
	Index int  // in the conversation, from 0
	Sent  bool // by the editor
	Raw   []byte

	// Members of the line if it is a JSON object; else Bad is true.
	Bad    bool
	ID     json.RawMessage // nil: no id, or null
	Method string          // empty: a response
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// IsRequest reports whether the message is a request.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message is a notification.
func (m Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsAnswer reports whether the message is a response, or an error about a line without an id (then
// ID is nil).
func (m Message) IsAnswer() bool { return m.Method == "" && !m.Bad }

// Param returns the member of params at a path of keys, as JSON text; empty if there is none. A
// string has no quotes.
func (m Message) Param(path ...string) string { return member(m.Params, path) }

// member returns the member of raw at path.
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

// Member returns the member of a JSON object at a path of keys, like Param.
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
	// encoding/json accepts null as an object.
	if err := json.Unmarshal(m.Raw, &line); err != nil || !bytes.Contains(m.Raw, []byte("{")) {
		m.Bad = true
		return
	}
	if string(line.ID) == "null" {
		line.ID = nil
	}
	m.ID, m.Method, m.Params, m.Result, m.Error = line.ID, line.Method, line.Params, line.Result, line.Error
}

// Error is an error response, or the reason why there is no response; then Code is 0 and Unwrap
// returns the cause.
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

// Unwrap returns the cause of a missing response: ErrClosed or the error of a context.
func (e *Error) Unwrap() error { return e.cause }
