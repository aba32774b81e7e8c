// Package handlers decides on Codex's native hooks. It consults the rules of policy, the
// commands of [[hooks.handler]], and a client that offers to answer hooks.
//
// A denial of one of them is final. A failure (no start, timeout, bad exit, invalid output,
// panic) is a denial if the event decides, unless hooks.on_failure is "allow". A tool's
// input that a handler rewrites goes through the rules again. An answer comes when the
// context ends, at the latest. Package hook passes the answer to Codex.
//
// A Chain may be used by any number of goroutines.
package handlers
