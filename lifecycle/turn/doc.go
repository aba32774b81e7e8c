// Package turn runs, steers and follows the turns of a thread.
//
// A Thread follows the turns of one thread by Codex's notifications: whether one is running, what
// it has said, and what became of the input that was sent to it. A Collector gathers the text of
// one turn.
//
// A Queue runs the work of each session one at a time, in the order of the requests. Run runs a turn
// at its place in a Queue, to its end, with the reply as a text. It runs the turn once more in a new
// thread when Codex does not know the session's thread. An Opener opens the thread and writes the
// parameters of the turn.
//
// An Inbox takes messages for a thread in which a turn may be running. Each message reaches the
// model once, in order. The Inbox waits until no message has come for a while, and then sends the
// messages together, one request at a time: to the running turn, after it, or to a turn of their
// own. Input that the running turn does not take, because the turn is a review or a compaction,
// has just ended, or is interrupted first, goes to the next turn, before all later messages. A
// message waits for the messages before it, whatever its mode; a message that interrupts does not
// wait for the end of the turn.
//
// Measured with Codex 0.169.0:
//
//   - turn/start while a turn runs joins that turn: the response has its id. While a review
//     or a compaction runs, Codex refuses it, and turn/steer too.
//   - The turn/completed of a review has another id than its turn/started. A thread runs
//     one turn at a time, so any turn/completed ends the turn that was started last.
//   - Input that turn/steer has accepted is lost when the turn is interrupted before the
//     model has received it: no item, nothing in the history. Input that is not lost is shown
//     as a userMessage, with the clientUserMessageId of the request as its clientId,
//     before the turn/completed.
//   - Before turn/started, Codex may refuse turn/interrupt and turn/steer for a turn whose
//     turn/start has succeeded: no turn is active.
//
// Responses and notifications are handled by different goroutines: notifications of a turn may
// come before the response that tells its id.
//
// Several goroutines may use each type. Thread.Take must be called with Codex's notifications in
// order, and does not block. An Inbox sends nothing unless Inbox.Run is running.
package turn
