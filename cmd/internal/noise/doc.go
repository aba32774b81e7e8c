// Package noise makes messages and members that no schema knows, at random, by a seed. A future
// Codex sends such messages, and so does an editor: the end-to-end tests add them to every
// conversation. Their names start with Prefix.
//
// It adds no member to objects that are data (arguments of tools, schemas, configuration), where an
// unknown name has a meaning. A receiver that ignores what it does not know sees the same message.
//
// A Source belongs to one goroutine.
package noise
