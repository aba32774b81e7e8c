package config

import (
	"io/fs"
	"os"
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

// homeVariable names the home folder.
const homeVariable = "USERPROFILE"

// defaultConfigHome and defaultStateHome ask the system, which does not depend on the environment.
func defaultConfigHome() (string, error) {
	return windows.KnownFolderPath(windows.FOLDERID_LocalAppData, windows.KF_FLAG_DEFAULT|windows.KF_FLAG_DONT_VERIFY)
}

func defaultStateHome() (string, error) { return defaultConfigHome() }

// configFolderIn returns the folder for configuration in a home folder.
func configFolderIn(home string) string { return filepath.Join(home, "AppData", "Local") }

// belongsToOther accepts all folders: the default folder is always that of the process's user.
func belongsToOther(string) bool { return false }

// checkOwner accepts all files, since modes have no meaning on Windows.
func checkOwner(fs.FileInfo) *Error { return nil }

// openFile opens a file for reading. Unlike os.Open, it lets other programs move or remove the file meanwhile,
// as editors do when they save.
func openFile(name string) (*os.File, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(path, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}
