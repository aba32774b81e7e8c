// Package follow shows one turn of bridge/turn/run on a terminal or a pipe: the reply while Codex
// writes it or as a whole, the activity of Codex as one line, or every event as JSON. It asks the
// user about Codex's requests.
//
// Standard output has only the reply, so that it can be redirected. A terminal gets the reply while
// Codex writes it; a pipe gets the last message, once, at the end. The progress line, questions and
// errors go to standard error, the progress line only to a terminal. The text of a model can't move
// the cursor or change colours.
//
// An ExecTurn prints a turn of an app-server as `codex exec` prints it: as lines of JSON, or as text.
// Measured with Codex 0.169: its exec is a client of an app-server in the same process. Texts of
// warnings and errors are those of the app-server. Items of other threads, such as a subagent's, are
// not printed.
//
// The methods of Screen and Person may be called concurrently.
package follow
