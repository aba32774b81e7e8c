// Package codex is the real codex as a program: where it is, what an argument
// list asks of it, which version it has, how it is started as a child, ended
// with all that it started, and mirrored in the way it ended. Nobody else starts
// it.
//
// A Child may be used by several goroutines, but for Start (see there). What
// differs between systems is in the files named for them.
package codex
