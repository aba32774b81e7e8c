package config

import (
	"codex-bridge/bridge/setting"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/adrg/xdg"
)

// EnvConfig names the user's configuration file; set and empty means none.
const EnvConfig = "CODEX_BRIDGE_CONFIG"

// WorkspaceFiles returns the policy files for a folder: the WorkspaceFile in it and those in all folders
// above it, the outermost first. Neither the top of a repository nor another WorkspaceFile hides one, since
// a command could create either. A file that can't be looked up is in the list.
func WorkspaceFiles(folder string) (files []string) {
	for _, file := range workspacePaths(folder) {
		if _, err := os.Lstat(file); err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			files = append(files, file)
		}
	}
	return files
}

// workspacePaths returns where the policy files for a folder may be, the outermost first.
func workspacePaths(folder string) (paths []string) {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		paths = append(paths, filepath.Join(dir, WorkspaceFile))
		if dir == filepath.Dir(dir) {
			slices.Reverse(paths)
			return paths
		}
	}
}

// Discover returns the files of this machine for a workspace folder (empty =
// none): the managed file, the user's by CODEX_BRIDGE_CONFIG or in the
// platform's configuration folder, and those of the workspace.
func Discover(workspace string) Options {
	opts := Options{Managed: managedFile(), Workspace: workspace, Home: xdg.Home,
		Requirements: setting.RequirementsPath(runtime.GOOS, os.Getenv("ProgramData"))}
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
