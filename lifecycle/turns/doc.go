// Package turns is what a host without a chat window of its own asks of the bridge:
// bridge/turn/run runs a turn of a session to its end and answers with the reply,
// bridge/turn/enqueue takes messages while turns run, and beside them what controls a
// turn and what reports on it.
//
// Promises. What it asks of Codex goes through the features behind it, so that the policy
// judges it like the client's own. Requests for one session, or one thread, are taken in
// the order in which they came; one turn runs at a time. A message is given to the model
// once, or whoever sent it is told why not. What this package has to hear of Codex it hears
// though the client has opted out of it, and the client does not.
//
// No promises. What waits is in memory, and gone with the process. A client that knows
// nothing of the bridge sees nothing of this, and none of Codex's messages is read for it.
//
// A Feature is a bridge.Feature and may be used by several goroutines. It must stand before
// the threads of sessions and before all that holds requests to a policy; what Last returns
// stands last.
package turns
