// Package gate asks a person about a tool call in Codex's place.
//
// Codex is asked to be on-request, so that what it runs stays in the sandbox; whoever
// wants to be asked about everything is asked from the hook that sees each call. The
// question is Codex's own, native one, between the start of the item that it is about
// and what becomes of it, so that a client needs to know nothing of the bridge.
//
// What is answered from memory, shared with an identical question, or declined because
// too much is asked, is as package approvals says. Every failure is a no.
//
// A Gate may be used by many goroutines at once.
package gate
