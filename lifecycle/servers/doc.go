// Package servers makes of the MCP servers that a host's user has set up the part of a
// thread's configuration that starts them.
//
// What it can't say to Codex is an error, never left out: it could be what keeps a server
// small. A server that is switched off, or meant for other agents, is left out. Whether
// the servers are allowed is the policy's to say. It is pure and may be used by several
// goroutines.
package servers
