// Package tools offers the host's tools to every thread and answers Codex's calls of them,
// so that an editor need not support them.
//
// A [Provider] has tools: a command, an MCP server, or the client. A [Catalogue] checks
// them, and omits a tool that Codex would reject or never offer, with a reason. A [Runner]
// answers calls. It runs the steps before a call, checks the arguments, runs the tool, and
// runs the handlers of its result. Each call gets exactly one answer, because without one
// the turn would hang (measured with Codex 0.169.0).
//
// The package does not ensure that a provider ends its processes; only Runner.Close waits
// for a slow provider. A Catalogue and a Runner may be used by many goroutines at once.
package tools
