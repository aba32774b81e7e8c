// Package relay is for what Codex asks back: hooks (hook, inject, handlers, observe),
// approvals and questions (gate, approvals, grants, answer), and tools of the host (tools).
package relay
