package guard

import (
	"context"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// maxWants bounds the facts that the guard gets for one decision: the folder, the configuration, the
// configuration of the project, the thread's stored settings, the profile of a loaded thread, and the
// models.
const maxWants = 6

// decideWithFacts decides a message, and asks Codex for the facts that the decision wants.
func (g *Guard) decideWithFacts(ctx context.Context, p *policy.Policy, call *bridge.ClientMessage, m *rpc.Message, state *policy.State) policy.Decision {
	d := p.Decide(m, *state)
	for range maxWants {
		missing := d.Missing(*state)
		if missing == policy.WantNothing {
			return d
		}
		if !g.readFact(ctx, missing, d.ConfigCwd, call, state) {
			return policy.RefuseUnknown(d, m.Method)
		}
		d = p.Decide(m, *state)
	}
	return d
}

// readFact asks Codex for a fact that a decision about call wants, and sets it in state. It returns false
// if the fact stays unknown. folder is that of the configuration.
func (g *Guard) readFact(ctx context.Context, want policy.Want, folder string, call *bridge.ClientMessage, state *policy.State) bool {
	switch want {
	case policy.WantThreadFolder:
		return g.readFolder(ctx, call, state)
	case policy.WantLoadedProfile:
		state.LoadedProfile = g.loadedProfile(ctx, textOf(call, "threadId"))
		state.NotLoaded = state.LoadedProfile == nil
		return true
	case policy.WantStoredSandbox, policy.WantStoredApproval:
		return !state.UnknownThread && g.readStored(ctx, call, state)
	case policy.WantConfiguration:
		defaults := g.readDefaults(ctx, folder)
		if defaults != nil {
			state.Defaults = defaults
		}
		return defaults != nil
	case policy.WantModels:
		state.Models = g.readModels(ctx)
		return state.Models != nil
	}
	return false
}

// readDefaults returns Codex's configuration for a thread in folder, including the project's; nil
// if it can't be read. Measured: without a cwd Codex applies no project's configuration, not even
// that of its start folder.
func (g *Guard) readDefaults(ctx context.Context, folder string) *policy.Defaults {
	params := map[string]any{"includeLayers": true}
	if folder != "" {
		params["cwd"] = folder
	}
	result, err := g.peer.Call(ctx, "config/read", params)
	if err == nil {
		var d *policy.Defaults
		if d, err = policy.ParseDefaults(result); err == nil {
			d.Cwd = folder
			list := ReadTrustList(g.world.CodexHome)
			if list.Err != nil {
				g.log.Error("the list of trusted projects is not valid", "error", list.Err)
			}
			d.Projects.LimitUser(list.File, list.Counts)
			return d
		}
	}
	g.log.Error("codex's configuration can't be read; requests that omit settings are refused", "error", err)
	return nil
}

// readModels returns the models that Codex lists; nil if they can't be read.
func (g *Guard) readModels(ctx context.Context) []string {
	result, err := g.peer.Call(ctx, "model/list", map[string]any{"limit": maxModels})
	if err == nil {
		var names []string
		if names, err = policy.ParseModels(result); err == nil {
			return names
		}
	}
	g.log.Error("codex's list of models can't be read; requests without an allowed model are refused", "error", err)
	return nil
}

// maxModels bounds the models that the bridge reads. Codex 0.171 lists 11.
const maxModels = 1000
