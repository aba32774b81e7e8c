package configured

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
)

// The redaction knows the secrets of the configuration.
func TestConfiguredSecretsAreKnown(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=abcd1234efgh,authorization=Bearer%20qwer5678tyui,x-tenant=production")
	t.Setenv("SOME_SERVER", "zxcv9012bnmk")
	cfg := config.Default()
	cfg.Codex.Env = map[string]string{"EXTRA_KEY": "asdf3456ghjk", "EXTRA": "nothing special"}
	cfg.ToolServers = map[string]config.ToolServer{"x": {BearerTokenEnv: "SOME_SERVER"}}
	cfg.Store.URL = "postgres://ada:p%40ss7890word@localhost/x"
	known := Setup.Secrets(cfg)
	for text, want := range map[string]bool{
		"abcd1234efgh": true, "qwer5678tyui": true, "zxcv9012bnmk": true, "asdf3456ghjk": true, "p@ss7890word": true,
		"production": false, "nothing special": false, "Bearer qwer5678tyui": false,
	} {
		if slices.Contains(known, text) != want {
			t.Errorf("%q: known %v", text, !want)
		}
	}
}
