// Package server has the tools of a [tool_servers.NAME]: of an MCP server, as a child
// or at an address, or of a child that speaks two methods of our own in JSON-RPC.
//
// It promises that a call ends when its context does, or the server: whoever calls
// learns at once that the server died, and what it said last. A server is started
// when it is first needed, again when it has died, ever more seldom and not for ever,
// and ended with all that it started. What a server can send is bounded: a message,
// the number of its tools, what it leaves unread.
//
// It does not repeat a call that may have been run, and does not judge tools: that is
// the catalogue's. Sampling, elicitation and roots are not offered to servers.
//
// All methods of Server may be called by many goroutines at once.
package server
