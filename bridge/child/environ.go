package child

import (
	"runtime"
	"slices"
	"strings"
)

// kept are the variables that commands of the host get. A list of what is kept, not
// of what is taken out: nobody can name all variables that hold a secret.
var keptVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "TMP", "TEMP",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// Environ is the part of base that a command of the host gets: what a program needs
// to run, and the variables named in also.
func Environ(base []string, also ...string) []string {
	env := []string{}
	for _, pair := range base {
		name, _, _ := strings.Cut(pair, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if slices.Contains(keptVariables, name) || slices.Contains(also, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
		}
	}
	return env
}
