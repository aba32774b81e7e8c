// Package transcript keeps what is said in threads in the state, so that it can be searched:
// what the user and the model say, the model's reasoning and plans, what tools were asked and
// answered, and where a thread was summed up.
//
// It promises that no message waits for it. What comes faster than it can be kept, or while
// the state can't be reached for long, is dropped, and the gap is on record. A record is kept
// once, however often Codex tells it, after a resume too. Secrets are taken out as they are
// of a trace. Threads that are ephemeral, and those that a client forks, are not kept from
// before: of the first nothing is, of the second what comes.
//
// A Mirror's routes are called by the proxy; one goroutine of its own writes.
package transcript
