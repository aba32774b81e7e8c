// Package ask is the first part of a hook process: it reads Codex's input, finds the bridge,
// sends the request and writes the output for Codex. Package hook continues after a failure.
//
// Codex waits for a hook process before each tool call. Initialising packages that a hook
// does not need took 2.1 of its 4.2 ms, and 355 of 710 page faults (measured). So this
// package does all of that in init, and ends the process there unless it fails. Go
// initialises a package once all its imports are, in the order of the paths. On Linux this
// package imports only packages that are initialised early: no fmt, strings, encoding/json
// or net. A change of that order would only cost time.
//
// The request is sent only to a socket of the user's own, in a folder of the user's own.
// The process takes output, also none, only from a reply with the bridge's reply token.
//
// A Request must be used by one goroutine.
package ask
