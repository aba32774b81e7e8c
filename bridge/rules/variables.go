package rules

import "strings"

// harmlessVariables are the variables that may be set for an allowed command. The list has only
// known variables, because each program has others that name files to load or programs to run, such
// as PATH, LD_PRELOAD, GIT_SSH and NODE_OPTIONS.
var harmlessVariables = setOf(
	"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
	"TZ", "CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "RUST_BACKTRACE", "DEBIAN_FRONTEND",
)

// zshVariables are short names that zsh ties to other variables, such as path to PATH.
var zshVariables = setOf(
	"path", "fpath", "cdpath", "manpath", "mailpath", "fignore", "psvar", "prompt", "watch", "status", "argv", "histchars",
	"aliases", "galiases", "saliases", "functions", "builtins", "commands", "nameddirs", "options", "parameters", "modules", "signals", "widgets",
)

// isScriptVariable reports whether a variable belongs to a script: a lower-case name that no shell
// uses, or a harmless variable.
func isScriptVariable(name string) bool {
	if harmlessVariables[name] {
		return true
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && !zshVariables[name]
}

// lookupVariables are the variables by which shells look up commands and aliases.
var lookupVariables = setOf("BASH_ALIASES", "BASH_CMDS", "aliases", "galiases", "saliases", "commands", "functions", "builtins", "dis_functions", "dis_aliases")

// startupVariables name files or text that a shell runs when it starts, or with each command. zsh
// runs NULLCMD and READNULLCMD for a redirection without a command: NULLCMD=sh; <<< 'git push'. ENV
// counts only if its value may be a file, because many programs use a variable of that name.
var startupVariables = setOf("BASH_ENV", "ZDOTDIR", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4", "SHELLOPTS", "BASHOPTS", "BASH_LOADABLES_PATH", "NULLCMD", "READNULLCMD")

// runsAtStartup reports whether a shell may run the value of a variable in its environment.
func runsAtStartup(name, value string) bool {
	return startupVariables[name] || strings.HasPrefix(name, "BASH_FUNC_") || name == "ENV" && strings.Trim(value, wordLetters) != ""
}

// startsSomething reports whether setting a variable makes a shell run something.
func startsSomething(name string) bool { return lookupVariables[name] || runsAtStartup(name, "") }

func startReason(name string) string {
	return "it sets " + name + ", which makes a shell run something"
}

// isVariableName reports whether a text can be the name of a variable.
func isVariableName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// setOf returns a set of names.
func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
