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

// WorkspaceFolder returns the folder whose WorkspaceFile applies to start: start
// itself, or the next one above it that has a file, up to the top of the repository.
// An editor may open any folder of a repository. It is start if no folder has one.
func WorkspaceFolder(start string) string {
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, WorkspaceFile)); err == nil {
			return dir
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return start
		}
	}
}

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
