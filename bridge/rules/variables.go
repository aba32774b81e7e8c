package rules

import "strings"

// harmless are the variables that can be set for a command which a rule
// allows without them. Every program has variables of its own that name files
// to load or programs to run (PATH, LD_PRELOAD, GIT_SSH, NODE_OPTIONS …), so
// this is a list of what is known, not of what is feared.
var harmless = setOf(
	"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
	"TZ", "CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "RUST_BACKTRACE", "DEBIAN_FRONTEND",
)

// zshOwn are short names that zsh ties to others, PATH before all.
var zshOwn = setOf(
	"path", "fpath", "cdpath", "manpath", "mailpath", "fignore", "psvar", "prompt", "watch", "status", "argv", "histchars",
	"aliases", "galiases", "saliases", "functions", "builtins", "commands", "nameddirs", "options", "parameters", "modules", "signals", "widgets",
)

// own says whether a variable is a script's own, as far as that can be told:
// lower case, in one piece, and not one that a shell knows.
func own(name string) bool {
	if harmless[name] {
		return true
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && !zshOwn[name]
}

// tables are the variables by which shells look up commands and aliases.
var tables = setOf("BASH_ALIASES", "BASH_CMDS", "aliases", "galiases", "saliases", "commands", "functions", "builtins", "dis_functions", "dis_aliases")

// startup are the variables that name what a shell runs when it starts, or with each
// command. ENV is one where its value may be a file: many programs have a variable of
// that name.
var startup = setOf("BASH_ENV", "ZDOTDIR", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4", "SHELLOPTS", "BASHOPTS", "BASH_LOADABLES_PATH")

// runs reports whether a shell that a variable is set for may run its value.
func runs(name, value string) bool {
	return startup[name] || strings.HasPrefix(name, "BASH_FUNC_") || name == "ENV" && strings.Trim(value, wordLetters) != ""
}

// variable says whether a text is the name of one.
func variable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
