package hook

import "codex-bridge/relay/hook/ask"

// For the tests: what is compared, and what no test could wait for.
var (
	QuoteShell = quoteShell
	QuoteCmd   = quoteCmd
)

const (
	MaxNodes  = maxNodes
	MaxText   = maxText
	MaxDepth  = maxDepth
	TokenName = ask.TokenName
	Young     = young
)
