// Package rollout reads what codex itself has written down of a thread: its rollout
// file, JSON Lines below CODEX_HOME/sessions.
//
// Measured: when codex asks about a command, the model's call already stands there
// under the call_id that the question has for its itemId, on a fresh, a resumed and
// a forked thread. The question itself does not tell whether the model asked for the
// command to run outside of the sandbox.
//
// What it promises: Sandboxed is said of a call only that was read whole and asks for
// nothing but the sandbox. It reads a bounded part of a regular file of codex's own,
// and never waits for one. What it does not: commands that code mode runs have no
// call of their own, and are unknown. It holds no state; anyone may call it at any
// time.
package rollout
