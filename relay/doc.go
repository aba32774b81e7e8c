// Package relay is for what Codex asks back: hooks (hook, inject, handlers), approvals
// and questions (approvals, grants, answer). Dynamic tools are passed to the client; the
// keys [tools] and [tool_servers] of the configuration are checked and not acted on.
package relay
