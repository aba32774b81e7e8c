// Package hook relays Codex's native hooks: a small process that Codex starts for
// each run of one (Run, and package ask), and the socket of the bridge that it asks (Server). It knows
// what Codex writes and reads; what the answer is, others decide.
//
// It promises that nothing but a valid denial leaves the process for an event that
// decides, whatever keeps it from being answered by the bridge that the thread was
// opened by: Codex lets the tool run when a hook fails in any other way (measured).
// It does not protect from a process of the same user's that is free to read and write
// the folder: that one can be the bridge. A process that Codex kills says nothing.
//
// A Server may be used by many goroutines at once. Run is made for a process of its
// own: what it started to read may outlive it.
package hook
