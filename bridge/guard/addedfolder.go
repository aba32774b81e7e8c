package guard

import (
	"context"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// distrustAddedFolder keeps Codex from trusting the project of a folder that the bridge has added to a
// thread/start, also where no policy is enforced. Under an enforced one, decide has done so unless it leaves
// the trust to Codex.
func (g *Guard) distrustAddedFolder(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	p := g.Policy()
	if !call.FolderAdded || p.Mode() == config.Enforce && !p.TrustsAsCodex() {
		return nil
	}
	m, err := rpc.ParseMessage(call.Line) // decide may have rewritten it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "the rewritten %s can't be parsed: %v", call.Method, err)
	}
	refuse := func(reason, hint string) *rpc.Error {
		return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{Method: call.Method, Rule: "policy.project_trust", Field: "cwd", Reason: reason, Hint: hint})
	}
	if policy.AsksForReadOnly(m.Params) {
		return nil // Codex trusts nothing by that
	}
	cwd, _ := m.Params.Get("cwd").Text()
	state := g.machine()
	if state.Defaults = g.readDefaults(ctx, cwd); state.Defaults == nil {
		return refuse("the bridge could not read Codex's configuration, which may trust the project", "find out why config/read fails")
	}
	line, err := policy.WithoutTrust(m, state)
	if err != nil {
		return refuse("the bridge adds the folder of the client, and can't keep Codex from trusting its project: "+err.Error(), "send a cwd")
	}
	call.Line = line
	return nil
}
