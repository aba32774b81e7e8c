package main

import (
	"fmt"

	"codex-bridge/bridge/config"
)

// examineAgents looks up the programs of agents. It does not run them, since they may sign in.
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
			f.State, f.Detail, f.Hint = broken, fmt.Sprintf("%s: program %q not found (%s)", r.ID, r.Command[0], origin(cfg, config.Key("acp", "agents", r.ID))), "install it, or set another command"
		}
		all = append(all, f)
	}
	return all
}
