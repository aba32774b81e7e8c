// Package noise creates random messages and members that no schema has, from a seed. A future Codex
// or editor may send such messages: the end-to-end tests add them to every conversation. Their
// names start with Prefix.
//
// It adds no member to objects that are data (arguments of tools, schemas, configuration), where
// any name has a meaning. A receiver that ignores unknown members sees the same message.
//
// A Source must not be used concurrently.
package noise
