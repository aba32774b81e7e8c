package guard

import (
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// Consents reports whether every policy of the thread that params name lets a server's tool
// be consented to without a person.
func (g *Guard) Consents(params rpc.Value, use policy.ToolCall) bool {
	return g.all(params, func(p *policy.Policy) bool { return p.DecidePermission(use).Verdict == policy.Pass })
}
