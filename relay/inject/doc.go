// Package inject makes Codex run the bridge's hooks in every thread. It adds the hooks and
// their trust to the configuration of each new thread; without the trust, Codex silently
// skips them. It checks with hooks/list that they are trusted and enabled before the thread
// takes a turn, and interrupts the turn of a hook that fails.
//
// Package hook answers the hooks. The policy removes a client's own hooks before this
// package sees a request.
package inject
