// Package serve lets several clients use one Codex. A [Server] accepts clients that speak Codex's
// WebSocket protocol. Each connection has a conversation, which reads and writes JSON Lines. [Clients]
// knows which client has opened which threads, and which began which turns.
//
// It promises that every text message of a client becomes one line, that every line becomes one text
// message, that memory does not depend on how fast a client reads, and that one client answers each
// request of Codex. It knows nothing of the policy. All types may be used concurrently.
package serve
