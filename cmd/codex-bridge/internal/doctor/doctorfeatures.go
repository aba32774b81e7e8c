package doctor

import (
	"fmt"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/internal/settings"
)

// examineAgents looks up the programs of agents. It does not run them, since they may sign in.
func examineAgents(cfg *config.Config) []finding {
	if len(cfg.ACP.Agents) == 0 {
		return nil
	}
	if !cfg.ACP.Enabled {
		return []finding{{"agents", Fine, "switched off (" + settings.Origin(cfg, "acp.enabled") + ")", ""}}
	}
	var all []finding
	for _, r := range assembly.AgentRows(cfg) {
		f := finding{"agent", Fine, fmt.Sprintf("%s: %s", r.ID, r.Found), ""}
		switch {
		case !r.Allowed:
			f.Detail = r.ID + ": not in acp.allowed"
		case r.Found == "":
			f.State, f.Detail, f.Hint = Broken, fmt.Sprintf("%s: program %q not found (%s)", r.ID, r.Command[0], settings.Origin(cfg, config.Key("acp", "agents", r.ID))), "install it, or set another command"
		}
		all = append(all, f)
	}
	return all
}

// examineImages checks image.model, if it is set.
func examineImages(cfg *config.Config) []finding {
	model := cfg.Image.Model
	if model == "" {
		return nil
	}
	f := finding{"images", Fine, fmt.Sprintf("described by %s, within %s", model, time.Duration(cfg.Image.Timeout)), ""}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err == nil && p.Mode() == config.Enforce && !p.AllowsModel(model) {
		f.State, f.Detail = Warn, fmt.Sprintf("image.model is %s (%s), which policy.models does not allow", model, settings.Origin(cfg, "image.model"))
		f.Hint = "set an allowed model, or remove the key"
	}
	return []finding{f}
}

// examineTurns reports what the bridge does with messages that arrive during a turn.
func examineTurns(cfg *config.Config) finding {
	does := map[string]string{
		"steer": "join it", "followup": "start one after it, together", "queue": "start one after it, each of its own", "interrupt": "end it, and start one",
	}[cfg.Steering.Mode]
	detail := fmt.Sprintf("messages that arrive during a turn %s, collected for %v (steering)", does, time.Duration(cfg.Steering.Quiet))
	return finding{"turns", Fine, detail, ""}
}
