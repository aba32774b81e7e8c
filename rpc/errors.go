package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Code is a JSON-RPC error code.
type Code int32

// Error is a JSON-RPC error object.
type Error struct {
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string {
	if e == nil {
		return ""
	}
	return e.Message
}

// Is reports whether target is an Error with the same code.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && e.Code == other.Code
}

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Codes of the JSON-RPC specification.
const (
	CodeParse          Code = -32700 // the line is not JSON
	CodeInvalidRequest Code = -32600 // valid JSON, but not a JSON-RPC message
	CodeUnknownMethod  Code = -32601
	CodeInvalidParams  Code = -32602
	CodeInternal       Code = -32603
)

// CodeOverloaded is the code that Codex, too, uses for too many pending requests.
const CodeOverloaded Code = -32001

// Codes of codex-bridge. The data of CodeRefused is {method, rule, reason, field?}.
const (
	CodeRefused     Code = -32010 // refused by policy
	CodeUpstream    Code = -32011 // Codex has exited or failed
	CodeDeadline    Code = -32012 // no response in time
	CodeNotVerified Code = -32013 // the thread does not have the policy that was sent
	CodeTooLarge    Code = -32014 // longer than codex.max_message
	CodeBusy        Code = -32015 // in use by another process
)

// WithData sets the data of e and returns e. It panics if data can't be encoded as JSON.
func WithData(e *Error, data any) *Error {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	e.Data = raw
	return e
}
