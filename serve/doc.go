// Package serve lets clients that speak Codex's WebSocket protocol talk to the bridge. Each
// connection gets a conversation of its own, which reads and writes JSON Lines.
//
// It promises that every text message of a client becomes one line, that every line becomes one text
// message, and that memory does not depend on how fast a client reads. It knows nothing of Codex's
// methods and of the policy. A Server may be used concurrently.
package serve
