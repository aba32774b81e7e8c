package config

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// managedFile asks the system, not the environment, which the user sets.
func managedFile() string {
	dir, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, windows.KF_FLAG_DEFAULT)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "codex-bridge", "config.toml")
}
