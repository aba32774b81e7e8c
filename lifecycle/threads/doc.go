// Package threads acts on what outlives a process: which Codex thread a session of the
// client's has. thread/start with a session is start-or-resume; the packages beside this
// one decide, this one asks Codex, keeps the answer and tells the client why.
//
// Promises. What it sends goes through the features behind it, so that the policy judges
// it like the client's own. A binding is replaced once the new thread has started, never
// before, and is on disk before the client hears of the thread. A session has one writer
// among all processes that share the state; the second one gets -32015 with the first
// one's process. A failure that says nothing about the thread costs no session its thread.
//
// No promises. Without a session, and without [thread] in the configuration, no request
// is touched. A thread that was started just before the process was killed may be bound to
// nothing; the next start makes another.
//
// A Feature is a bridge.Feature and may be used by several goroutines.
package threads
