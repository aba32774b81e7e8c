package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
)

// Home returns the absolute path of the user's home folder: of the variable that names it, or of the
// system's user database if the variable is unset, empty or relative. A relative path would lead to a
// folder of the repository in which the bridge starts.
//
// Measured with Codex 0.169: without HOME, Codex also takes the home folder of the user database.
func Home() (string, error) {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return home, nil
	}
	home, err := DatabaseHome()
	if err != nil {
		return "", fmt.Errorf("%s names no absolute path, and the system knows no home folder of yours: %w", homeVariable, err)
	}
	return home, nil
}

// DatabaseHome returns the home folder in the system's user database.
func DatabaseHome() (string, error) {
	who, err := user.Current()
	switch {
	case err != nil:
		return "", err
	case !filepath.IsAbs(who.HomeDir):
		return "", fmt.Errorf("the home folder %q of the user %s is no absolute path", who.HomeDir, who.Username)
	}
	return who.HomeDir, nil
}

// StateHome returns the user's folder for the state of programs: XDG_STATE_HOME, or the platform's own.
func StateHome() (string, error) { return folderOf("XDG_STATE_HOME", defaultStateHome) }

// configHome returns the user's folder for configuration: XDG_CONFIG_HOME, or the platform's own.
func configHome() (string, error) { return folderOf("XDG_CONFIG_HOME", defaultConfigHome) }

// folderOf returns the absolute path that variable names. By the XDG specification a relative path does
// not count. A path may start with ~ or $HOME, since not every program that sets variables expands them.
func folderOf(variable string, platform func() (string, error)) (string, error) {
	folder := os.Getenv(variable)
	for _, prefix := range []string{"~/", "$HOME/"} {
		if below, ok := strings.CutPrefix(folder, prefix); ok {
			home, err := Home()
			if err != nil {
				return "", err
			}
			return filepath.Join(home, below), nil
		}
	}
	if filepath.IsAbs(folder) {
		return filepath.Clean(folder), nil
	}
	return platform()
}

// userFile returns the path of the user's configuration file. An error means that it can't be looked for,
// so that it is not known whether there is a policy.
func userFile() (string, *Error) {
	folder, err := configHome()
	if err != nil {
		return "", newError("the user's configuration file can't be looked for: "+err.Error(),
			fmt.Sprintf("set HOME to your home folder, or %s to the file (to nothing if you have none)", EnvConfig))
	}
	file := filepath.Join(folder, "codex-bridge", "config.toml")
	if own := passedOver(file); own != "" {
		return file, newError(own+" would not count: the environment names the folder of another user, "+folder,
			fmt.Sprintf("set HOME and XDG_CONFIG_HOME to your own folders, or %s to the file that counts", EnvConfig))
	}
	return file, nil
}

// passedOver returns the user's file in the home folder of the user database, if file is another one and
// below a home or configuration folder of another user, as with sudo -E; "" if there is no such file.
func passedOver(file string) string {
	named := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(named) {
		named = os.Getenv(homeVariable)
	}
	if !filepath.IsAbs(named) || !belongsToOther(named) {
		return ""
	}
	home, err := DatabaseHome()
	if err != nil {
		return "" // the user has no other folder
	}
	own := filepath.Join(configFolderIn(home), "codex-bridge", "config.toml")
	if _, err := os.Lstat(own); own == file || isAbsent(err) {
		return ""
	}
	return own
}

// isAbsent reports whether an error of looking for a file proves that there is none.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// brokenLink returns the link in an absolute path whose target is missing; "" if there is none. A file
// behind it is not absent: its disk may not be mounted yet.
func brokenLink(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for _, at := range ancestors(path) {
		link, err := os.Lstat(at)
		if err != nil {
			return ""
		}
		if _, err := os.Stat(at); link.Mode()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrNotExist) {
			return at
		}
	}
	return ""
}
