// Package session is what a client says to the bridge with thread/start and turn/start, in
// the member bridge, and what it is told in the answer.
//
// A session is a conversation of the client's, known by a key of its own. What can't be
// read is an error, and nothing is started. It is pure and may be used by several
// goroutines; values alias the message that was read.
package session
