// Package appserver is a client of an app-server that it starts: Codex, or codex-bridge in its
// place. It does not apply a policy.
//
// A call has one outcome: a result, an error of the server, or the reason why there is none. Every
// request of the server gets a response. After Close no process of the server is left.
//
// Notifications are handled one at a time, in the server's order. A request of the server is
// handled after the notifications before it, and concurrently with later ones.
package appserver
