// Package converse runs the turns of sessions: one at a time for each, to the end, with
// the reply as a text; and once more in a new thread when Codex does not know the one that
// the session had.
//
// How a thread is opened and what a turn is started with is for a Sessions to say, and
// what Codex asks in the meantime for who holds the conversation. A Runner may be used by
// several goroutines.
package converse
