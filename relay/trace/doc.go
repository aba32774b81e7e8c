// Package trace records the messages of threads, for a person to read and a program to replay: one
// file of JSON Lines per thread, in the state folder. A page shows a trace in a browser.
//
// A Recorder never waits for the disk. If messages come faster than it writes, it drops events and
// writes how many. Before it writes, it redacts secrets by the names of fields and by their form; it
// cannot find a secret that looks like a word. Only the owner can read a file, no file is opened
// through a symbolic link, and lines and files have a maximum size.
//
// A [Player] plays a trace to a client: it answers as Codex answered, and sends the notifications of
// Codex, in the recorded order. The client has to send the methods of the trace in their order, with
// any parameters. If it sends another method, it gets an error, and the replay ends. Ids are those
// of the client. Redacted texts stay redacted.
//
// A Recorder is safe for concurrent use, except ForwardedPart. Other types belong to one goroutine.
package trace
