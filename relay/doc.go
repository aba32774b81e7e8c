// Package relay is for what Codex asks back: hooks, approvals, elicitations,
// questions and dynamic tools. This version passes all of them to the client; the
// keys [approvals], [hooks], [tools] and [tool_servers] of the configuration are
// checked and not acted on.
package relay
