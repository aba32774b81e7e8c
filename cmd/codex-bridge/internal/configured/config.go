// Package configured loads the configuration with the features of this program: bundles of policy, and secrets of
// databases and collectors.
package configured

import (
	"context"
	"log/slog"
	"os"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/settings"
)

// Load reads the configuration for the working folder, and warns about workspace files that do not load.
func Load() (*config.Config, error) {
	cfg, err := config.LoadLenient(Files())
	if err != nil {
		return nil, err
	}
	WarnWorkspace(cfg)
	return cfg, nil
}

// LoadStrict is Load for a command that applies an enforced policy. Then it returns the errors of
// workspace files that do not load.
func LoadStrict() (*config.Config, error) {
	cfg, err := config.LoadLenient(Files())
	if err == nil {
		err = settings.RequireWorkspace(cfg)
	}
	if err != nil {
		return nil, err
	}
	WarnWorkspace(cfg)
	return cfg, nil
}

// WarnWorkspace prints a warning for each workspace file that does not load.
func WarnWorkspace(cfg *config.Config) {
	for _, fault := range settings.WorkspaceFaults(cfg) {
		output.PrintError("codex-bridge: warning: %s", display.Line(fault))
	}
}

// Setup is what the features of this program add to its settings.
var Setup = settings.Setup{
	Extend: func(files *config.Options) {
		files.Bundle = LoadBundle
		if IsTrial() {
			files.Candidate = os.Getenv(TrialManagedEnv)
		}
	},
	SocketState: func(state string) string {
		if IsTrial() {
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

// Files returns the files of the configuration for the current workspace.
func Files() config.Options { return Setup.Files(settings.Workspace()) }
