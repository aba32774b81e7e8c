package main

import (
	"fmt"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
)

// examineImages checks image.model, if it is set.
func examineImages(cfg *config.Config) []finding {
	model := cfg.Image.Model
	if model == "" {
		return nil
	}
	f := finding{"images", fine, fmt.Sprintf("described by %s, within %s", model, time.Duration(cfg.Image.Timeout)), ""}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err == nil && p.Mode() == config.Enforce && !p.AllowsModel(model) {
		f.State, f.Detail = warn, fmt.Sprintf("image.model is %s (%s), which policy.models does not allow", model, origin(cfg, "image.model"))
		f.Hint = "set an allowed model, or remove the key"
	}
	return []finding{f}
}
