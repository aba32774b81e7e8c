// Package codex finds, starts and stops the real Codex. It determines its version and protocol,
// kills it with its descendants, and ends the bridge in the same way as Codex ended. No other
// package starts Codex.
//
// All functions may be called concurrently; for Start see there. Files are named for the system
// that they are for.
package codex
