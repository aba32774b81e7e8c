package release

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/codex"
)

// unreachable is a config.toml with a provider without a server. Measured with Codex 0.171: at thread/start it connects
// to its provider, which is api.openai.com without a configuration. The models are the same.
const unreachable = `model_provider = "none"

[model_providers.none]
name = "none"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
`

// readModels reads the models that Codex has without an account, and the model of a thread without one. Codex does not
// reach the network.
func (r *Release) readModels(ctx context.Context, c codex.Command, home string) (err error) {
	if err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "config.toml"), []byte(unreachable), 0o600)); err != nil {
		return err
	}
	server, err := c.Connect(ctx, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	var list struct {
		Data []struct {
			ID        string `json:"id"`
			Hidden    bool   `json:"hidden"`
			Default   string `json:"defaultReasoningEffort"`
			Supported []struct {
				Effort string `json:"reasoningEffort"`
			} `json:"supportedReasoningEfforts"`
		} `json:"data"`
	}
	if err := codex.CallInto(ctx, server, &list, "model/list", map[string]any{"includeHidden": true, "limit": 1000}); err != nil {
		return err
	}
	var thread struct {
		Model string `json:"model"`
	}
	if err := codex.CallInto(ctx, server, &thread, "thread/start", map[string]any{"ephemeral": true, "cwd": home}); err != nil {
		return err
	}
	if len(list.Data) == 0 || thread.Model == "" {
		return errors.New("Codex names no model")
	}
	r.Models, r.DefaultModel = make(map[string]string), thread.Model
	for _, m := range list.Data {
		words := []string{m.Default, "of"}
		for _, one := range m.Supported {
			words = append(words, one.Effort)
		}
		if m.Hidden {
			words = append(words, "(hidden)")
		}
		r.Models[m.ID] = strings.Join(words, " ")
	}
	return nil
}
