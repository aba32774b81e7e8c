// Package turn follows the turns of a thread by what Codex tells of them: whether one is
// running, what it has said, and what became of the input that was sent to it.
//
// Measured with 0.169.0, and what the package is built on:
//
//   - turn/start while a turn runs joins that turn: the answer has its id. While a review
//     or a compaction runs it is refused, and so is turn/steer.
//   - The turn/completed of a review has another id than its turn/started. A thread runs
//     one turn at a time, so that any turn/completed ends the turn that was started last.
//   - Input that turn/steer has accepted is lost when the turn is interrupted before the
//     model has been given it: no item, nothing in the history. What is not lost is shown
//     as a userMessage, with the clientUserMessageId of the request for its clientId,
//     before the turn/completed.
//   - Until turn/started has come, turn/interrupt and turn/steer of a turn that turn/start
//     has answered may be refused: no turn is active.
//   - Answers and notifications are handled by different goroutines here: what a turn
//     says may come before the answer that tells its id.
//
// A Thread and a Collector may be used by several goroutines. Take has to be called with
// Codex's notifications in their order, and waits for nothing.
package turn
