// Package hook relays Codex's native hooks to the bridge. Codex starts a small process for
// each run of a hook ([Run], and package ask); the process sends a request to the bridge's
// socket ([Server]). Options.Decide makes the decision; this package only reads Codex's
// input and writes its output.
//
// For an event that decides, the process writes a denial unless it gets an answer from the
// bridge that opened the thread. Any other failure of a hook would let the tool run
// (measured with Codex 0.169). The package does not protect against an unsandboxed process
// of the same user, which could read the token. A process that Codex kills writes nothing.
//
// A Server may be used by many goroutines at once. Run may be called once per process: its
// reading goroutine may outlive the call.
package hook
