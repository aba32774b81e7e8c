// Package rpc is the wire between a client and `codex app-server`: framing,
// the strict parse of what a client sends, the fast scan of what Codex sends,
// raw-span rewriting, ids and errors. It knows nothing of Codex's methods.
//
// The two directions are not alike. What comes from the client is untrusted and
// rare: every line is parsed strictly (Parser), so that no two readers can
// understand it differently. What comes from Codex is trusted and hot: lines
// that nobody wants are found by their first bytes and written on from the read
// buffer (Pump), without a decode and without an allocation.
//
// A Parser and a Pump belong to one goroutine. A Sink may be used by several.
// A Value and a Message alias the text they were read from.
//
// Why own code: go.lsp.dev/jsonrpc2 and creachadair/jrpc2 insist on
// "jsonrpc":"2.0", which Codex never sends, and decode every message. From the
// first come the types of codes and errors, from the second the writer of the
// header framing.
package rpc
