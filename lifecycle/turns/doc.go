// Package turns runs turns for clients without their own chat window. bridge/turn/run runs a turn
// of a session to its end and responds with the reply. bridge/turn/enqueue takes messages while
// turns run. Other methods control a turn and report on it.
//
// The package promises:
//   - Its requests go through the features behind it, so that the policy judges them like the
//     client's own.
//   - Requests for one session, or one thread, are handled in order; one turn runs at a time. A
//     message is given to the model once, or its sender gets an error.
//   - A question of the model that the client can't show is sent as text, and the next message for
//     the thread answers it. A thread has at most one open question; each is answered once.
//   - Diagnostics are uploaded to the maker of Codex in two steps: a preview returns a token, and
//     only that token uploads. It is valid once, for five minutes, and for the previewed threads. A
//     thread, and a scope, is uploaded at most once a minute.
//   - The package receives the notifications that it needs even if the client has opted out of
//     them; the client does not receive those.
//
// It does not promise that waiting messages, open questions and tokens survive the process: they
// are in memory. A client that does not know the bridge sees nothing of this package, and no
// message from Codex is read for it.
//
// A Feature is a bridge.Feature. Several goroutines may use it. It must come before the threads of
// sessions and before all features that apply the policy to requests; the feature that Last returns
// comes last.
package turns
