package rpc

import (
	"encoding/json"

	"go.lsp.dev/jsonrpc2"
)

// Code is a JSON-RPC error code.
type Code = jsonrpc2.Code

// Error is a JSON-RPC error object.
type Error = jsonrpc2.Error

// Codes of the JSON-RPC specification.
const (
	CodeParse          = jsonrpc2.ParseError     // -32700: the line is not JSON
	CodeInvalidRequest = jsonrpc2.InvalidRequest // -32600: valid JSON, but not a JSON-RPC message
	CodeUnknownMethod  = jsonrpc2.MethodNotFound // -32601
	CodeInvalidParams  = jsonrpc2.InvalidParams  // -32602
	CodeInternal       = jsonrpc2.InternalError  // -32603
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

// Errorf returns an Error with a formatted message.
var Errorf = jsonrpc2.Errorf

// WithData sets the data of e and returns e. It panics if data can't be encoded as JSON.
func WithData(e *Error, data any) *Error {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	e.Data = raw
	return e
}
