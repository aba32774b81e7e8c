// Package settings applies the configuration in a program that starts Codex: it loads the files and watches them,
// decides about Codex's arguments and environment, and protects on this machine what the policy depends on.
package settings

import (
	"context"
	"log/slog"

	"codex-bridge.example/bridge/config"
)

// OwnCodexEnv is the variable for an app-server that starts a Codex of its own: that of exec and doctor. Codex does
// not get it.
const OwnCodexEnv = "CODEX_BRIDGE_OWN_CODEX"

// ServeToken is the name of the default token file of serve, in the folder of the sockets.
const ServeToken = "serve.token"

// Setup is what the features of a program add to the settings of the core. The zero value adds nothing.
type Setup struct {
	// Extend adds to the options of each load of the configuration.
	Extend func(*config.Options)
	// SocketState returns the state folder that has the folder of the hooks' sockets.
	SocketState func(state string) string
	// DriverFiles returns the files with which the driver of a database connects.
	DriverFiles func(*config.Config) []SecretFile
	// Variables returns the names of the variables with secrets that only features use.
	Variables func(*config.Config) []string
	// Environ returns further secrets of features, each as NAME=VALUE with the name of a secret.
	Environ func() []string
	// Refresh refreshes the policy source of a configuration until ctx ends. recheck gets a value when the source
	// may have changed; the caller calls setSource for a changed configuration.
	Refresh func(ctx context.Context, from config.PolicySource, log *slog.Logger) (recheck <-chan struct{}, setSource func(config.PolicySource))
}

// Files returns the files for a workspace folder, or for none if it is empty.
func (s Setup) Files(workspace string) config.Options {
	files := config.Discover(workspace)
	files.Check = CheckPolicy
	if s.Extend != nil {
		s.Extend(&files)
	}
	return files
}

// driverFiles returns what DriverFiles returns.
func (s Setup) driverFiles(cfg *config.Config) []SecretFile {
	if s.DriverFiles == nil {
		return nil
	}
	return s.DriverFiles(cfg)
}
