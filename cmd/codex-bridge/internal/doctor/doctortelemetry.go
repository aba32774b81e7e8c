package doctor

import (
	"net/url"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/relay/telemetry"
)

// examineTelemetry checks the address of the collector. It sends nothing.
func examineTelemetry(cfg *config.Config) []finding {
	endpoint := configured.CollectorURL(cfg)
	if endpoint == "" {
		return nil
	}
	address, err := url.Parse(endpoint)
	if err == nil {
		_, err = telemetry.NewCollector(endpoint, nil)
	}
	if err != nil {
		return []finding{{"telemetry", Warn, "nothing is exported: the address of the collector is no HTTP URL", "set an address such as http://localhost:4318 as otel.endpoint or OTEL_EXPORTER_OTLP_ENDPOINT"}}
	}
	logs := ""
	if cfg.Otel.Logs {
		logs = "; decisions also as logs, with rules and reasons"
	}
	return []finding{{"telemetry", Fine, "turns, tools, hooks and decisions are exported to " + address.Host + ", without their contents" + logs, ""}}
}
