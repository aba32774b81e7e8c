package configured

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
)

// Codex gets no variable with a secret that only the bridge uses: commands inherit its environment.
func TestCodexEnviron(t *testing.T) {
	for _, pair := range [][2]string{
		{EnvHeaders, "a=1"}, {EnvLogsHeaders, "b=2"}, {"PGPASSWORD", "c"}, {"TOOL_TOKEN", "d"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", ""},
	} {
		t.Setenv(pair[0], pair[1])
	}
	all := []string{EnvHeaders + "=a=1", EnvLogsHeaders + "=b=2", "PGPASSWORD=c", "TOOL_TOKEN=d"}
	enforced := func(change func(*config.Config)) *config.Config {
		cfg := &config.Config{}
		cfg.Policy.Mode = config.Enforce
		change(cfg)
		return cfg
	}
	everything := func(cfg *config.Config) {
		cfg.Otel.Endpoint, cfg.Fleet.URL = "http://localhost:4318", "https://example.com/v1/logs"
		cfg.Store.URL = "postgres://bridge@localhost/state"
		cfg.ToolServers = map[string]config.ToolServer{"tickets": {URL: "https://example.com", BearerTokenEnv: "TOOL_TOKEN"}}
	}
	for name, test := range map[string]struct {
		cfg  *config.Config
		lost []string
	}{
		"nothing configured":      {enforced(func(*config.Config) {}), nil},
		"everything":              {enforced(everything), all},
		"not enforced":            {enforced(func(cfg *config.Config) { everything(cfg); cfg.Policy.Mode = config.Audit }), nil},
		"password in the address": {enforced(func(cfg *config.Config) { cfg.Store.URL = "postgres://bridge:x@localhost/state" }), nil},
		"set for Codex": {enforced(func(cfg *config.Config) {
			everything(cfg)
			cfg.Codex.Env = map[string]string{EnvHeaders: "a=1"}
		}), all[1:]},
	} {
		env := Setup.CodexEnviron(test.cfg)
		for _, pair := range all {
			if slices.Contains(env, pair) == slices.Contains(test.lost, pair) {
				t.Errorf("%s: %s: %v", name, pair, slices.Contains(env, pair))
			}
		}
	}
}
