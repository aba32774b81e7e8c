package guard

import (
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// isUnchanged reports whether Codex's answer to a request that opens the thread again has the
// settings that the thread had before, and each policy still allows these. It does not compare the
// answer with the request.
//
// Measured with Codex 0.169: a loaded thread ignores what thread/resume requests, and its running
// turn goes on.
func (one *thread) isUnchanged(result rpc.Value, world policy.State, policies []*policy.Policy) bool {
	before := one.Thread
	again := thread{
		sent:       &policy.SentSettings{Method: one.sent.Method, CwdWithin: before.Workspace, Profile: one.sent.Profile, Gated: &before.Gated},
		openResult: copyResult(result), world: world,
	}
	for _, p := range policies {
		if again.verify(p) != nil {
			return false
		}
	}
	return again.LacksProfile == before.LacksProfile && policy.SameSettings(&before, &again.Thread)
}
