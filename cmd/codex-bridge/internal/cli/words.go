package cli

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

var wordForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`) })

// CheckWord returns an error for a word at a terminal that Codex would take for a prompt, if the word is alone
// or almost a command.
func CheckWord(args []string) error {
	word, alone := args[0], len(args) == 1
	if !output.IsTerminal(os.Stdin) || !wordForm().MatchString(word) || argv.Parse([]string{word}).Command != "" {
		return nil
	}
	sought := word // a prompt often begins with a capital letter
	if alone {
		sought = strings.ToLower(word)
	}
	near := nearCommands(sought, alone)
	if near == nil && !alone {
		return nil
	}
	hint := `; "codex-bridge help" lists the commands.`
	if near != nil {
		for i, name := range near {
			near[i] = strconv.Quote(name)
		}
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return exit.RefuseArgs(fmt.Sprintf("%q is no command%s To send it to the model, write \"codex-bridge -- %s\".", word, hint, strings.Join(args, " ")))
}

// nearCommands returns the commands that a word may stand for. A word that is alone may also be the beginning
// of a command, or the last word of one.
func nearCommands(word string, alone bool) []string {
	const minPrefix = 3
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(Names, argv.FirstWords()))))
	longer := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, word) })
	last := commandsByLastWord()
	near := config.Nearest(word, names)
	switch {
	case !alone && near == "":
		return nil
	case !alone, slices.Contains(names, word):
		return []string{near}
	case last[word] != nil:
		return last[word]
	case len(word) >= minPrefix && len(longer) > 0:
		return longer
	case near != "":
		return []string{near}
	}
	return last[config.Nearest(word, slices.Sorted(maps.Keys(last)))]
}

// commandsByLastWord returns the bridge's commands of several words, such as "policy explain".
func commandsByLastWord() map[string][]string {
	parser, err := newParser(new(Commands))
	if err != nil {
		panic(err) // cli is declared wrongly
	}
	commands := make(map[string][]string)
	for _, command := range parser.Model.Leaves(true) {
		if command.Parent != parser.Model.Node {
			commands[command.Name] = append(commands[command.Name], command.Parent.Name+" "+command.Name)
		}
	}
	return commands
}
