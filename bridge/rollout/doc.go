// Package rollout reads Codex's own record of a thread: its rollout file, JSON Lines below
// CODEX_HOME/sessions.
//
// Measured: when Codex asks about a command, the model's call is already in the file. Its call_id is
// the itemId of the request, on a fresh, a resumed and a forked thread. The request itself does not
// say whether the model asked to run the command outside the sandbox.
//
// A call is Sandboxed only if it was parsed as a whole and asks only for the sandbox. The package
// reads a limited part of regular files, and does not block. Commands of code mode have no call
// of their own, and are unknown. The functions may be called concurrently.
package rollout
