package child

import (
	"runtime"
	"slices"
	"strings"
)

// MarkName is the environment variable by which orphans of a child are found on Linux. A program that is to
// go on without this process must not have it.
const MarkName = "CODEX_BRIDGE_CHILD"

// keptVariables are the variables that the user's commands get. It lists the harmless ones,
// since a list of all that may hold a secret can't be complete.
var keptVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "TMP", "TEMP",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// Environ returns the part of base that the user's commands get: keptVariables, the variables
// named in also, and LC_*.
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
