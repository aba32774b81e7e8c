// Package observe makes events of what Codex tells about its own doings beside a turn's
// items: runs of hooks, whoever's they are, compactions of a thread, and reviews of a
// model that decides in the person's place.
//
// It changes no message, and reads none while no Observer wants to hear: then all of them
// pass unread. What a client has opted out of Codex does not say, but for what the policy
// needs, and is no event. An Observer is told in Codex's order, from one goroutine.
package observe
