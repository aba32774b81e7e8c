// Package bridge is the proxy between an editor (the client) and `codex app-server`, which it
// runs as a child process. Features see and change messages by the routes that they register.
// The bridge has no knowledge of features. It forwards a message of Codex that no route wants
// without decoding it, and a message of the client unchanged after a strict parse.
//
// # Order
//
// One goroutine reads Codex and handles its messages in order. A handler for them must not wait
// for a response of Codex.
//
// One goroutine at a time reads the client. It does not wait for handlers: a message that needs
// a response of Codex, or a disk, waits in its own goroutine. Handlers run concurrently for
// different threads. The client's messages reach Codex in this order:
//
//   - Messages with the same params.threadId keep their order.
//   - Messages without a thread keep their order. thread/start waits for those before it, but
//     those after it do not wait for thread/start.
//   - initialize and initialized keep their order with all messages. Any other notification is
//     ordered like a request: Codex 0.169 takes no other.
//   - Responses to Codex's requests, and urgent requests (Options.Urgent: interrupts), wait for
//     no other message.
//   - Messages of different threads do not wait for each other.
//   - Requests that change nothing (Options.Reads) do not wait for a message whose handler waits for
//     long, such as for a locked log: ClientMessage.LetReadsPass.
//   - A message that no route wants keeps its order with all others. Without a policy these are
//     all messages.
//
// # Limits
//
// Messages of the client that wait: 16 MiB plus one message of maximum size. A
// request beyond that gets error -32015. The same holds for requests that features answer by
// other requests, such as those that a person is asked about.
//
// A client that does not read: beyond 4 MiB notifications of the bridge are dropped. Beyond
// 16 MiB the bridge sends no requests, and a long response of the bridge becomes error -32015.
// Beyond 32 MiB the bridge stops reading the client.
//
// A Codex that does not read: beyond 32 MiB of replies the bridge stops reading Codex. During a
// blocked write to Codex it stops reading the client.
//
// # State
//
// One struct, conversation, has all state of messages in flight, under one mutex. A request of
// Codex is registered with all its handlers in one step, before the client gets it. A response
// before that is unsolicited.
package bridge
