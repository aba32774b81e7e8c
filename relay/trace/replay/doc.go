// Package replay plays a trace to a client: a codex that answers what it answered, and says
// what it said, in the same order.
//
// The client has to send the methods of the trace in their order; its parameters are its
// own. Where it sends another method, it is told so and the play ends: from there on nothing
// would be true. Ids are the client's, and so are those of its answers. What was redacted
// stays redacted. A Player belongs to one goroutine.
package replay
