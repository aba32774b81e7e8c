package approvals_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/relay/approvals"
)

func TestListAndRevokeGrants(t *testing.T) {
	a := newRequest(t)
	w := newFixture(t, "", approvals.Session)
	g := w.remember(t, newKey(t, a), approvals.Session)
	c := bridgetest.Start(t, approvals.NewGrantFeature(w.Memory, func() bool { return true }))
	c.Bind("id", g.ID)
	c.Bind("digest", g.Digest)
	c.Bind("workspace", g.Workspace)
	c.Play("known", strings.TrimSpace(`
editor> {"id":1,"method":"bridge/grant/list","params":{}}
editor< {"id":1,"result":{"grants":[{"id":"$id","digest":"$digest","workspace":"$workspace","tool":"Bash","what":"make (sandbox: read-only)","client":"zed","thread":"T","created":"2026-03-01T12:00:00Z","expires":"2026-03-01T12:30:00Z","remember":"session"}]}}
editor> {"id":2,"method":"bridge/grant/revoke","params":{}}
editor< {"id":2,"error":{"code":-32602,"message":"<text>"}}
editor> {"id":3,"method":"bridge/grant/revoke","params":{"ids":[1]}}
editor< {"id":3,"error":{"code":-32602,"message":"<text>"}}
editor> {"id":4,"method":"bridge/grant/revoke","params":{"ids":["$id"],"all":true}}
editor< {"id":4,"error":{"code":-32602,"message":"<text>"}}
editor> {"id":5,"method":"bridge/grant/revoke","params":{"ids":["x","$id"]}}
editor< {"id":5,"result":{"revoked":["$id"]}}
editor> {"id":6,"method":"bridge/grant/revoke","params":{"all":true}}
editor< {"id":6,"result":{"revoked":[]}}
editor> {"id":7,"method":"bridge/grant/list"}
editor< {"id":7,"result":{"grants":[]}}
`)+"\n")
	w.check(t, "revoked by the client", newKey(t, a), false)
}

// The requests of a client that does not know the bridge go to Codex.
func TestGrantMethodsForUnknowingClientGoToCodex(t *testing.T) {
	w := newFixture(t, "", approvals.Session)
	c := bridgetest.Start(t, approvals.NewGrantFeature(w.Memory, func() bool { return false }))
	c.Play("unknown", `editor> {"id":1,"method":"bridge/grant/list","params":{}}
codex< {"id":1,"method":"bridge/grant/list","params":{}}
codex> {"id":1,"error":{"code":-32600,"message":"no"}}
editor< {"id":1,"error":{"code":-32600,"message":"no"}}
`)
}
