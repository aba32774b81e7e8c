package rpc

import (
	"encoding/json"

	"go.lsp.dev/jsonrpc2"
)

// Code is a JSON-RPC error code.
type Code = jsonrpc2.Code

// Error is a JSON-RPC error object: what a refused request is answered with.
type Error = jsonrpc2.Error

// JSON-RPC's own codes, as the bridge uses them.
const (
	CodeParse          = jsonrpc2.ParseError     // -32700: the line is not JSON
	CodeInvalidRequest = jsonrpc2.InvalidRequest // -32600: it is JSON, and no JSON-RPC message
	CodeUnknownMethod  = jsonrpc2.MethodNotFound // -32601
	CodeInvalidParams  = jsonrpc2.InvalidParams  // -32602
	CodeInternal       = jsonrpc2.InternalError  // -32603
)

// The bridge's own codes (contract, section 3).
const (
	CodeOverloaded  Code = -32001 // too much is under way already, as codex says it
	CodeRefused     Code = -32010 // refused by policy; data: {method, rule, reason, field?}
	CodeUpstream    Code = -32011 // codex is gone
	CodeDeadline    Code = -32012 // no answer in time
	CodeNotVerified Code = -32013 // the thread's policy is not what was sent
	CodeTooLarge    Code = -32014 // longer than codex.max_message
	CodeBusy        Code = -32015 // somebody else has it
)

// Errorf is an Error with a formatted message.
var Errorf = jsonrpc2.Errorf

// WithData is e with data, which must be encodable.
func WithData(e *Error, data any) *Error {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err) // a programming error: data is the bridge's own
	}
	e.Data = raw
	return e
}
