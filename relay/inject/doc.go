// Package inject sees to it that Codex runs the bridge's hooks in every thread: it
// adds them to the configuration that a thread is opened with, together with the
// trust without which Codex skips them silently, has Codex say that they are trusted
// and enabled before the thread takes a turn, and watches for runs that fail.
//
// What a hook is answered is not decided here; nor does it hold what a client may say
// of hooks: under enforce the policy has taken that out before.
package inject
