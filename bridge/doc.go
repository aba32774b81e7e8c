// Package bridge is the proxy: an editor on one side, the real `codex
// app-server` as a child process on the other, and a table of the messages that
// somebody wants to see on their way.
//
// It carries bytes between the two and keeps their order. What is to be done with
// a message is a Feature's business; package bridge knows none of them. A message
// that no route names is never decoded on its way to the client; on its way to
// codex it is parsed strictly, and forwarded as it came.
//
// One goroutine reads each side. Handlers for the client's messages run on the
// one, handlers for codex's on the other, so that both keep their order; a
// handler for codex's messages must not wait for an answer of codex.
package bridge
