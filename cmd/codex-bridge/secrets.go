package main

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
)

// envHeaders is the variable of OpenTelemetry with the headers for a collector.
const envHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// codexEnviron returns the environment of Codex.
//
// Measured with Codex 0.169: commands inherit it, also variables such as X_SECRET and MY_TOKEN. So
// under an enforced policy it lacks those with secrets of the bridge, unless codex.env sets them.
func codexEnviron(cfg *config.Config) []string {
	base := os.Environ()
	if cfg.Policy.Mode == config.Enforce {
		base = codex.Environ(base, nil, secretVariables(cfg))
	}
	return codex.Environ(base, cfg.Codex.Env, append(slices.Clip(cfg.Codex.EnvRemove), ownCodexEnv))
}

// secretVariables returns the variables with secrets that only the bridge uses under cfg.
func secretVariables(cfg *config.Config) (names []string) {
	for _, server := range cfg.ToolServers {
		if server.BearerTokenEnv != "" {
			names = append(names, server.BearerTokenEnv)
		}
	}
	if collectorURL(cfg) != "" {
		names = append(names, envHeaders)
	}
	if strings.HasPrefix(cfg.Fleet.URL, "http") {
		names = append(names, envLogsHeaders)
	}
	for _, address := range databases(cfg) {
		if _, has := address.User.Password(); !has {
			names = append(names, "PGPASSWORD")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// databases returns the addresses of the PostgreSQL databases of cfg.
func databases(cfg *config.Config) (all []*url.URL) {
	for _, text := range []string{cfg.Store.URL, cfg.Fleet.URL} {
		if address, err := url.Parse(text); err == nil && isPostgres(address) {
			all = append(all, address)
		}
	}
	return all
}

func isPostgres(address *url.URL) bool { return strings.HasPrefix(address.Scheme, "postgres") }
