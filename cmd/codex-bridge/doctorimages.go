package main

import (
	"fmt"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
)

// examineImages tells which model describes images, where the configuration names one.
func examineImages(cfg *config.Config) []finding {
	model := cfg.Image.Model
	if model == "" {
		return nil
	}
	f := finding{"images", fine, fmt.Sprintf("described by %s, within %s", model, time.Duration(cfg.Image.Timeout)), ""}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err == nil && p.Mode() == config.Enforce && !p.AllowsModel(model) {
		f.State, f.Detail = warn, fmt.Sprintf("image.model is %s (%s), which policy.models does not allow", model, origin(cfg, "image.model"))
		f.Mend = "name one that it allows, or leave it out"
	}
	return []finding{f}
}
