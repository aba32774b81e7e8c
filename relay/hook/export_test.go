package hook

// For the tests: what is compared, and what no test could wait for.
var (
	QuoteShell = quoteShell
	QuoteCmd   = quoteCmd
)

const (
	MaxNodes  = maxNodes
	MaxText   = maxText
	MaxDepth  = maxDepth
	TokenName = tokenName
	Young     = young
)
