// Package replay plays a trace to a client: it answers as Codex answered, and sends the
// notifications of Codex, in the recorded order.
//
// The client has to send the methods of the trace in their order, with any parameters. If it sends
// another method, it gets an error, and the replay ends. Ids are those of the client. Redacted texts
// stay redacted. A Player belongs to one goroutine.
package replay
