package configured

import (
	"os"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/telemetry"
)

// EnvLogsHeaders is the variable of OpenTelemetry with the headers for an endpoint of logs.
const EnvLogsHeaders = "OTEL_EXPORTER_OTLP_LOGS_HEADERS"

// EnvHeaders is the variable of OpenTelemetry with the headers for a collector.
const EnvHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// CollectorURL returns the address of the OpenTelemetry collector; "" if there is none.
func CollectorURL(cfg *config.Config) string {
	if cfg.Otel.Endpoint != "" {
		return cfg.Otel.Endpoint
	}
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" {
		return ""
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
}

// featureVariables returns the variables with the headers for the collectors and the fleet log of cfg.
func featureVariables(cfg *config.Config) (names []string) {
	if CollectorURL(cfg) != "" {
		names = append(names, EnvHeaders)
	}
	if strings.HasPrefix(cfg.Fleet.URL, "http") {
		names = append(names, EnvLogsHeaders)
	}
	return names
}

// collectorSecrets returns the headers of the collectors that contain a digit.
func collectorSecrets() (environ []string) {
	for _, name := range []string{EnvHeaders, EnvLogsHeaders} {
		for _, value := range telemetry.ParseHeaders(os.Getenv(name)) {
			words := strings.Fields(value) // for example "Bearer", which is no secret
			if len(words) > 0 && strings.ContainsAny(value, "0123456789") {
				environ = append(environ, "TOKEN="+words[len(words)-1])
			}
		}
	}
	return environ
}
