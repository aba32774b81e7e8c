// Package threads binds the sessions of a client to threads of Codex. The client chooses the key of a session.
// thread/start with that key starts or resumes the session's thread. Package binding decides; this package sends
// Codex the request, stores the binding, and adds the reason to the client's response. A request that can't be
// read gets an error, and starts nothing.
//
// The package promises:
//   - Its requests pass the later features, so the policy judges them like the client's own.
//   - A binding is replaced only when the new thread has started, and is on disk before the
//     client gets the response.
//   - A session has one writer among all processes that share the state. A second writer gets
//     error -32015 with the first one's process.
//   - A session loses its thread only if a failure shows that the thread can't continue.
//
// If the process is killed right after Codex has started a thread, no session may have it; the next start makes
// another. Without a session, and without [thread] in the configuration, no request changes.
//
// A Feature is a bridge.Feature. Several goroutines may use it.
package threads
