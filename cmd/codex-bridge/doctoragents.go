package main

import (
	"fmt"

	"codex-bridge/bridge/config"
)

// examineAgents looks for the programs of agents, and does not run them: they may sign in.
func examineAgents(cfg *config.Config) []finding {
	if len(cfg.ACP.Agents) == 0 {
		return nil
	}
	if !cfg.ACP.Enabled {
		return []finding{{"agents", fine, "switched off (" + origin(cfg, "acp.enabled") + ")", ""}}
	}
	var all []finding
	for _, r := range agentRows(cfg) {
		f := finding{"agent", fine, fmt.Sprintf("%s: %s", r.ID, r.Found), ""}
		switch {
		case !r.Allowed:
			f.Detail = r.ID + ": not in acp.allowed"
		case r.Found == "":
			f.State, f.Detail, f.Mend = broken, fmt.Sprintf("%s: there is no program %q (%s)", r.ID, r.Command[0], origin(cfg, config.Key("acp", "agents", r.ID))), "install it, or name one that is there"
		}
		all = append(all, f)
	}
	return all
}
