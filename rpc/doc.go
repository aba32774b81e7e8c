// Package rpc implements the wire between a client and `codex app-server`: framing,
// strict parsing, fast forwarding, rewriting of raw text, ids and errors. It has no
// knowledge of Codex's methods.
//
// A client is untrusted and sends little. A Parser parses each of its lines strictly, so
// that Codex can't understand a line differently. Codex is trusted and sends much. A Pump
// forwards its lines from the read buffer without decoding or allocating; a Filter
// selects the others by their first bytes.
//
// A Parser and a Pump must not be used concurrently. A Sink may be. Values and Messages
// alias the text they were parsed from.
//
// The libraries go.lsp.dev/jsonrpc2 and creachadair/jrpc2 are not used here: they require
// "jsonrpc":"2.0", which Codex never sends, and decode every message.
package rpc
