package main

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/telemetry"
)

// loadConfig reads the configuration for the working folder, and warns about workspace files that do not load.
func loadConfig() (*config.Config, error) {
	cfg, err := config.LoadLenient(configFiles())
	if err != nil {
		return nil, err
	}
	warnWorkspace(cfg)
	return cfg, nil
}

// loadStrictConfig is loadConfig for a command that applies an enforced policy. Then it returns the errors of
// workspace files that do not load.
func loadStrictConfig() (*config.Config, error) {
	cfg, err := config.LoadLenient(configFiles())
	if err == nil {
		err = settings.RequireWorkspace(cfg)
	}
	if err != nil {
		return nil, err
	}
	warnWorkspace(cfg)
	return cfg, nil
}

// warnWorkspace prints a warning for each workspace file that does not load.
func warnWorkspace(cfg *config.Config) {
	for _, fault := range settings.WorkspaceFaults(cfg) {
		printError("codex-bridge: warning: %s", display.Line(fault))
	}
}

// setup is what the features of this program add to its settings.
var setup = settings.Setup{
	Extend: func(files *config.Options) {
		files.Bundle = loadBundle
		if isTrial() {
			files.Candidate = os.Getenv(trialManagedEnv)
		}
	},
	SocketState: func(state string) string {
		if isTrial() {
			return userState(state) // a path in its own would be too long for a socket
		}
		return state
	},
	DriverFiles: databaseFiles,
	Variables:   featureVariables,
	Environ:     collectorSecrets,
	Refresh: func(ctx context.Context, from config.PolicySource, log *slog.Logger) (<-chan struct{}, func(config.PolicySource)) {
		source := newSourceRefresher(from, log)
		go source.run(ctx) // ends with ctx
		return source.recheck, source.setSource
	},
}

func configFiles() config.Options { return setup.Files(settings.Workspace()) }

// featureVariables returns the variables with the headers for the collectors and the fleet log of cfg.
func featureVariables(cfg *config.Config) (names []string) {
	if collectorURL(cfg) != "" {
		names = append(names, envHeaders)
	}
	if strings.HasPrefix(cfg.Fleet.URL, "http") {
		names = append(names, envLogsHeaders)
	}
	return names
}

// collectorSecrets returns the headers of the collectors that contain a digit.
func collectorSecrets() (environ []string) {
	for _, name := range []string{envHeaders, envLogsHeaders} {
		for _, value := range telemetry.ParseHeaders(os.Getenv(name)) {
			words := strings.Fields(value) // for example "Bearer", which is no secret
			if len(words) > 0 && strings.ContainsAny(value, "0123456789") {
				environ = append(environ, "TOKEN="+words[len(words)-1])
			}
		}
	}
	return environ
}
