// Package appserver speaks with an app-server that is a child of ours: the real codex, or
// codex-bridge in its place. It is the client's side of the protocol and nothing more: what
// is sent is the caller's business, and held to no policy here.
//
// It promises that a call has one outcome (an answer, an error of the server's, or the reason
// why none will come), that what the server asks is answered, and that nothing of the server
// is left when Close has returned. It does not promise that a server is one of Codex's.
//
// Notifications are handed over one at a time, in the server's order; a request of the
// server's after the notifications before it, and beside those that follow.
package appserver
