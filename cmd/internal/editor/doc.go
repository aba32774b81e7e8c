// Package editor is a test editor: it starts `codex app-server`, or codex-bridge in its place, and
// exchanges JSON Lines with it. The demo and the end-to-end tests use it.
//
// It records every message of both directions, in order and as bytes. It is made for short
// conversations; see MaxKept. It records lines that are not JSON too, and marks them.
// Options.Answer responds to requests of the server; without it the caller responds.
//
// An Editor may be used concurrently. All its goroutines have ended when Close returns.
package editor
