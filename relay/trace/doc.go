// Package trace keeps what was said in a thread, so that a person can look at it and a
// program can play it again: a file of JSON Lines a thread, in the state folder.
//
// It promises that nothing waits for it. What comes faster than it can be written is
// dropped, counted, and the count is written down. Secrets are taken out by the names of
// fields and by their shape before anything is written; a secret that looks like any other
// word is not found. A file is its owner's alone, is never reached by a symbolic link, and
// neither a line nor the file grows beyond its bound.
//
// A Recorder may be told from everywhere at once. Everything else belongs to one goroutine.
package trace
