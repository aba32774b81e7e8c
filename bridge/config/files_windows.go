package config

import (
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// managedFile returns the path of the machine's file. The folder comes from the system, since the
// user sets the environment.
func managedFile() string {
	dir, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, windows.KF_FLAG_DEFAULT)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "codex-bridge", "config.toml")
}

// checkOwner accepts all files, since modes have no meaning on Windows.
func checkOwner(fs.FileInfo) *Error { return nil }
