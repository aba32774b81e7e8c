// Package follow shows one turn of bridge/turn/run to who sits at a terminal, or reads a
// pipe: the reply as it comes or as a whole, what Codex does in between as one line that
// changes, or every event as JSON; and asks what Codex wants to be asked.
//
// Rules. Standard output has the reply and nothing else, so that it can be redirected. A
// terminal sees the reply as it is written; a pipe gets the last message, once, at the end.
// The line of progress, questions and errors go to standard error, and the line only to a
// terminal. What a model writes moves no cursor and changes no colour.
package follow
