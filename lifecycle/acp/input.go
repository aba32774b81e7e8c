package acp

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// input has the members of a tool's input, which each agent names in its own way. The names are in lower case, without
// marks between their words.
type input map[string][]any

// readInput returns the members of an input; nil if it is not an object.
func readInput(v any) input {
	members, isObject := v.(map[string]any)
	if !isObject {
		return nil
	}
	in := make(input, len(members))
	for name, one := range members {
		if one != nil {
			name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
			in[name] = append(in[name], one)
		}
	}
	return in
}

var (
	commandNames  = []string{"command", "cmd"}
	argumentNames = []string{"args", "arguments", "argv"}
	folderNames   = []string{
		"cwd", "workdir", "workingdir", "workingdirectory", "currentdir", "currentdirectory", "dir", "dirpath", "directory", "directorypath", "folder",
	}
	// harmlessNames are members that change neither what a command does nor which files change.
	harmlessNames = []string{
		"description", "explanation", "justification", "reason", "title", "timeout", "timeoutms", "timeoutseconds", "runinbackground", "isbackground",
		"background", "callid", "toolcallid", "turnid", "threadid", "id", "type", "status",
	}
	// readingNames are members of tools that read, search, fetch or think: what they look for, and how much they return.
	readingNames = []string{
		"offset", "limit", "line", "startline", "endline", "pages", "maxresults", "headlimit", "pattern", "query", "glob", "include", "exclude", "ignore",
		"filepattern", "outputmode", "multiline", "casesensitive", "respectgitignore", "url", "urls", "prompt", "format",
		"alloweddomains", "blockeddomains", "thought", "plan",
	}
	// flagNames are flags of grep, as Claude Code has them: numbers and booleans.
	flagNames = []string{"a", "b", "c", "i", "n"}
	// repeatNames are members in which Codex repeats a command in parts.
	repeatNames = []string{"parsedcmd", "commandactions"}
)

// values returns the members with these names.
func (in input) values(names []string) (all []any) {
	for _, name := range names {
		all = append(all, in[name]...)
	}
	return all
}

// remove removes the members with these names.
func (in input) remove(lists ...[]string) {
	for _, name := range slices.Concat(lists...) {
		delete(in, name)
	}
}

// command returns the shell command, which is a string or a list of words. ok reports whether there is one. The
// command is "" if it is unknown: an input with two commands, or with arguments beside it, does not say what the agent
// runs. shell has the words before a script that is the command, such as "bash -lc".
func (in input) command() (command, shell string, ok bool) {
	all := in.values(commandNames)
	if len(all) != 1 || len(in.values(argumentNames)) > 0 {
		return "", "", len(all) > 0
	}
	switch v := all[0].(type) {
	case string:
		return v, "", true
	case []any:
		words := make([]string, 0, len(v))
		for _, one := range v {
			word, isString := one.(string)
			if !isString {
				return "", "", true
			}
			words = append(words, word)
		}
		command, shell = script(words)
		return command, shell, true
	}
	return "", "", false
}

// folder returns the folder that the input states, or else the agent's. It is "" if the input does not say which: the
// protocol has absolute paths, and each agent could read "sub", "-" or "file:///etc" in its own way.
func (in input) folder(agent string) string {
	all := in.values(folderNames)
	if len(all) == 0 {
		return agent
	}
	folder, _ := all[0].(string)
	if len(all) > 1 || !filepath.IsAbs(folder) {
		return ""
	}
	return folder
}

// unread returns the names of the other members, which may change what a command does.
func (in input) unread() (names []string) {
	for name := range in {
		if !slices.Contains(slices.Concat(commandNames, folderNames, harmlessNames, repeatNames), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// unreadOf returns the names of the members of a call without command and changed files that may say more than what
// the call reads.
func unreadOf(raw any, kind sdk.ToolKind) (names []string) {
	in := readInput(raw)
	if in == nil && raw != nil {
		return []string{"rawInput"}
	}
	known, flags := slices.Concat(fileNames, folderNames, harmlessNames), []string(nil)
	switch kind {
	case sdk.ToolKindRead, sdk.ToolKindSearch, sdk.ToolKindFetch, sdk.ToolKindThink, sdk.ToolKindSwitchMode:
		known, flags = append(known, readingNames...), flagNames
	}
	for name, values := range in {
		isFlag := slices.Contains(flags, name)
		if !isFlag && !slices.Contains(known, name) || !onlyPlain(values, !isFlag) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// onlyPlain reports whether each value is a number, a boolean, a list of plain values, or with texts a text.
func onlyPlain(values []any, texts bool) bool {
	return !slices.ContainsFunc(values, func(v any) bool {
		switch v := v.(type) {
		case float64, bool:
			return false
		case string:
			return !texts
		case []any:
			return !onlyPlain(v, texts)
		}
		return true
	})
}

// script returns a shell line for a command in words. For a shell with -c that is its script, and shell has the other words;
// other programs could do anything with the same arguments, so a shell reads them as these words.
func script(words []string) (line, shell string) {
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") && isShell(words[0]) {
		return words[2], words[0] + " " + words[1]
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if !plainWord().MatchString(word) || i == 0 && (strings.Contains(word, "=") || slices.Contains(keywords, word)) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " "), ""
}

// plainWord matches a word that each shell reads as it is.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./+,:@-][A-Za-z0-9_./+,:@=-]*$`) })

// keywords are plain words that a shell does not read as the name of a program.
var keywords = strings.Fields("case coproc do done elif else end esac fi for foreach function if in nocorrect noglob repeat select then time until while")

// isShell reports whether a program is a shell, by its plain name or in a system folder.
func isShell(program string) bool {
	folder, name := path.Split(program)
	return slices.Contains([]string{"bash", "zsh", "sh", "dash"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"}, folder)
}
