package hook

import "codex-bridge.example/relay/hook/ask"

// Internals that the tests compare with or change.
var (
	QuoteShell  = quoteShell
	CommandLine = commandLine
)

const (
	MaxNodes      = maxNodes
	MaxDepth      = maxDepth
	TokenName     = ask.TokenName
	MaxStartupAge = maxStartupAge
)
