// Package bridge is the proxy: an editor on one side, the real `codex
// app-server` as a child process on the other, and a table of the messages that
// somebody wants to see on their way.
//
// It carries bytes between the two and keeps their order. What is to be done with
// a message is a Feature's business; package bridge knows none of them. A message
// that no route names is never decoded on its way to the client; on its way to
// codex it is parsed strictly, and forwarded as it came.
//
// # Order
//
// One goroutine reads Codex, and its messages are handled in their order. A handler for
// them must not wait for an answer of Codex.
//
// One goroutine at a time reads the client. It never waits for a handler: a message that
// needs an answer of Codex, or a disk, waits in its own goroutine. A client's messages reach
// Codex in this order:
//
//   - Messages with the same params.threadId keep their order: turn/steer does not overtake
//     turn/start, nor turn/start the thread/resume before it.
//   - Messages without a thread keep their order among themselves. thread/start keeps its
//     place behind those before it; those behind it do not wait for it.
//   - initialize and initialized keep their order to all messages. Another notification has
//     the place of a request: Codex 0.169 takes no other, and one that is refused waits for
//     nothing.
//   - Answers to Codex's questions and urgent requests (Options.Urgent: interrupts) wait for
//     no other message, and may overtake any.
//   - Messages of different threads do not wait for each other.
//
// Handlers for the client's messages run at the same time for different threads. A message that
// no route wants, as all of them without a policy, keeps its order to all others.
//
// # Bounds
//
// What waits is bounded in bytes. Messages of the client that wait for their turn: 16 MiB
// and one of the largest; a request beyond that gets error -32015. For a client that does
// not read: notifications of the bridge are dropped beyond 4 MiB, which is logged; beyond
// 16 MiB the bridge asks nothing more, and a long answer of its own becomes error -32015; at
// 32 MiB the client is not read. For a Codex that does not read: beyond 32 MiB of the
// bridge's answers Codex is not read, and the client is not while a write to Codex hangs.
//
// # State
//
// All state of messages under way is in one struct, conversation, under one mutex. A
// question of Codex becomes known with all handlers that features have attached to it, in
// one step, before the client gets it; an answer before that is one to nothing.
package bridge
