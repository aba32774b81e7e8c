// Package guard holds a conversation to a policy: it asks bridge/policy about
// the client's messages, sees to it that codex does what was decided, and keeps
// turns away from threads of which that is not known.
//
// Under audit it logs every decision and changes nothing. A Guard is a
// bridge.Feature; its policy may be replaced at any time, from any goroutine.
package guard
