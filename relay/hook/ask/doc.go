// Package ask is what a hook's process does until it has an answer: it reads what Codex
// says of the call, finds the bridge, and asks it. What the answer means is for the
// package above to say.
//
// Codex waits for such a process before each tool call, and most of the process's time
// went into initialising packages that a hook does not need: 2.1 of 4.2 ms, and 355 of
// 710 page faults (measured). So the question is put while the program is still being
// initialised, and a process that is told nothing ends there. Packages are initialised
// in the order of their paths as soon as all that they import is; this one imports, on
// Linux, only what is initialised first: no fmt, no strings, no encoding/json, no net.
// In another order it would be as right, only slower.
//
// It promises that the bridge is asked only at a socket of the user's own in a folder of
// the user's own, and that a process ends silently only when a bridge that knows both
// words of the token has said so.
//
// An Asking is used by one goroutine, beside the one that it starts.
package ask
