// Package editor is a stand-in for an editor: it starts `codex app-server`, or
// codex-bridge in its place, and speaks JSON Lines with it. The demo and the
// end-to-end tests use it.
//
// It keeps every message in both directions, in order and as bytes, for as long
// as it lives: it is made for short conversations.
//
// It does not hide what it is given: lines that are no JSON are kept and marked,
// requests of the server are answered by the Answer of Options and, without
// one, left alone.
//
// An Editor is safe for concurrent use. Every goroutine that it starts has ended
// when Close returns.
package editor
