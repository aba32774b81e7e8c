package guard

import (
	"slices"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// opensUnenforced reports whether threads are opened without a policy that is enforced, so that the
// policy file of another folder could not be.
func (g *Guard) opensUnenforced() bool {
	return g.workspaces != nil && g.policy.Load().Mode() != config.Enforce
}

// opening are the requests that open a thread.
var opening = []string{"thread/start", "thread/resume", "thread/fork"}

// refuseUnenforced refuses to open a thread in a folder whose policy file asks for enforcement, where the
// bridge enforces nothing. Its hooks and pins belong to a Codex that was started under it.
func (g *Guard) refuseUnenforced(call *bridge.ClientMessage) *rpc.Error {
	if !g.opensUnenforced() || !slices.Contains(opening, call.Method) {
		return nil
	}
	cwd := textOf(call, "cwd")
	if cwd == "" {
		return nil // the folder that the bridge was started in, or that of the stored thread
	}
	folder, err := g.world.ResolveCwd(cwd)
	if err != nil {
		return nil // Codex refuses it, or its policy file can't be reached either
	}
	p, err := g.workspaces(folder)
	if err != nil && p == nil {
		g.log.Warn("the policy file of a thread's folder does not load; the thread is opened without it", "folder", folder, "error", err)
		return nil
	}
	if p == nil || p.Mode() != config.Enforce {
		return nil
	}
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: call.Method, Rule: "policy.mode", Field: "params.cwd",
		Reason: "the policy file of this folder is to be enforced, and codex-bridge was started elsewhere, where no policy is enforced",
		Hint:   "start the editor in this folder, or set policy.mode = \"enforce\" in your own configuration",
	})
}
