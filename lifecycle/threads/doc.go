// Package threads keeps the Codex thread of each session of the client. A session is a
// conversation of the client, with a key that the client chooses. thread/start with a session
// starts or resumes the session's thread. Package binding decides; this package asks Codex,
// stores the result and tells the client the reason. A request that can't be read is an error,
// and nothing is started.
//
// The package promises:
//   - Its requests go through the features behind it, so that the policy judges them like the
//     client's own.
//   - A binding is replaced only when the new thread has started, and is on disk before the
//     client gets the response.
//   - A session has one writer among all processes that share the state. A second writer gets
//     error -32015 with the first one's process.
//   - A failure that says nothing about the thread does not cost a session its thread.
//
// It does not promise that every thread is bound: a thread that was started just before the
// process was killed may belong to no session; the next start makes another. Without a session,
// and without [thread] in the configuration, no request is changed.
//
// A Feature is a bridge.Feature. Several goroutines may use it.
package threads
