package config

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"

	"codex-bridge/bridge/requirements"
)

// EnvConfig names the user's configuration file; set and empty means none.
const EnvConfig = "CODEX_BRIDGE_CONFIG"

// Discover returns the files of this machine for a workspace folder (empty =
// none): the managed file, the user's by CODEX_BRIDGE_CONFIG or in the
// platform's configuration folder, and the workspace's.
func Discover(workspace string) Options {
	opts := Options{Managed: managedFile(), Workspace: workspace, Home: xdg.Home,
		Requirements: requirements.Path(runtime.GOOS, os.Getenv("ProgramData"))}
	if name, set := os.LookupEnv(EnvConfig); set {
		opts.User, opts.UserRequired = name, name != ""
	} else {
		opts.User = filepath.Join(xdg.ConfigHome, "codex-bridge", "config.toml")
	}
	if home, err := os.UserHomeDir(); err == nil {
		opts.Home = home
	}
	return opts
}
