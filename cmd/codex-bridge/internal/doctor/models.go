package doctor

import (
	"context"
	"fmt"
	"strings"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/rpc"
)

// AskModels starts Codex and returns the models that it lists, its default first.
func AskModels(ctx context.Context, cfg *config.Config) ([]string, error) {
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return nil, fmt.Errorf("the list of models: %w", err)
	}
	raw, err := askServer(ctx, cfg, path, "model/list", "{}")
	if err != nil {
		return nil, fmt.Errorf("the list of models can't be read from codex: %w", err)
	}
	doc, err := rpc.ParseValue(raw)
	if err != nil {
		return nil, fmt.Errorf("model/list: %w", err)
	}
	return policy.ParseModels(doc.Root())
}

// examineModels names the model that replaces a forbidden one, if policy.models is set.
func examineModels(ctx context.Context, cfg *config.Config) []finding {
	if len(cfg.Policy.Models) == 0 || cfg.Policy.Mode == config.Off {
		return nil
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return nil // examinePolicy reports it
	}
	where := fmt.Sprintf("policy.models [%s] (%s)", strings.Join(cfg.Policy.Models, ", "), settings.Origin(cfg, "policy.models"))
	name := p.DefaultModel(nil)
	if name == "" {
		listed, err := AskModels(ctx, cfg)
		if err != nil {
			return []finding{{"models", Warn, where + ": " + problem.Text(err), "a request without an allowed model is refused; add a plain name to the list"}}
		}
		name = p.DefaultModel(listed)
	}
	if name == "" {
		return []finding{{"models", Warn, where + ": no model that codex lists is in it, so no thread opens without an allowed model", "add a plain name to the list"}}
	}
	return []finding{{"models", Fine, where + ": " + name + " replaces a forbidden model, and one that a client omits", ""}}
}
