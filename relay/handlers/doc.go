// Package handlers is what a native hook of Codex is answered: by the rules of
// policy, by the commands of [[hooks.handler]], and by a client that offered it.
//
// It promises that a denial of one of them ends the matter; that one that fails
// (does not start, is late, ends badly, says something that is no answer, panics)
// is a denial where the event decides and hooks.on_failure does not say otherwise;
// that a tool's input which one of them rewrote is judged by the rules again; and
// that an answer comes when the context ends, at the latest. It does not promise
// that Codex acts on the answer: that is between the hook's process and Codex.
//
// A Chain may be used by any number of goroutines.
package handlers
