// Package codex plays codex app-server, where a conversation has to be long and the real one
// would be what takes the time and the memory: ten thousand turns of it.
//
// Serve speaks the part of the app-server that codex-bridge uses, on a pair of streams, in
// the forms of codex 0.169.0: threads that are started, resumed and archived, turns that are
// started, steered and interrupted, their items, hooks that are really run, approvals, tools
// of the host and of MCP servers, questions. The model is scripted.Vocabulary: what the user
// says decides what happens.
//
// It promises to say what the real one says to a client that behaves, in the same order. It
// runs no command and no MCP server, keeps of a thread what finds it again, believes every
// client and refuses little: what a policy is worth is shown by the real codex alone.
//
// A Server belongs to Serve; everything else of it is safe for concurrent use.
package codex
