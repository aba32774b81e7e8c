package release

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
)

// Commands are the commands whose flags the bridge checks.
var Commands = []string{"codex", "codex app-server", "codex exec", "codex exec fork", "codex exec resume", "codex exec review", "codex review"}

// readCommands reads Commands and Flags from Codex's completion script, which also has hidden ones. It lacks
// hidden aliases.
func (r *Release) readCommands(ctx context.Context, c codex.Command) error {
	script, err := c.Output(ctx, "completion", "bash")
	if err != nil {
		return err
	}
	r.Commands = CommandNames(script)
	all := commandFlags(script)
	r.Flags, r.CommandFlags = make(map[string][]string), make(map[string][]string)
	for command, flags := range all {
		if slices.Contains(Commands, command) {
			r.Flags[command] = flags
			continue
		}
		flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return slices.Contains(flagsOfAll, flag) })
		if len(flags) > 0 {
			r.CommandFlags[strings.TrimPrefix(command, "codex ")] = flags
		}
	}
	for _, command := range Commands[:2] { // older releases lack some of the others
		if len(r.Flags[command]) == 0 {
			return fmt.Errorf("the completion script has no flags of %s", command)
		}
	}
	return nil
}

// flagsOfAll are the flags that all commands have.
var flagsOfAll = []string{"--config=", "--disable=", "--enable=", "--help", "-c=", "-h"}

// CommandNames returns the commands of a completion script, which has a line for each word and the state that it
// leads to:
//
//	codex__app__server,daemon)
//	    cmd="codex__app__server__daemon"
//
// Of several words for a state, one has its name, and the others are aliases.
func CommandNames(script string) []string {
	names := commandStates(script)
	delete(names, "codex")
	return slices.Sorted(maps.Values(names))
}

// commandStates returns the commands by their state in a completion script.
func commandStates(script string) map[string]string {
	step := regexp.MustCompile(`(?m)^ +(codex\w*),([\w-]+)\)\r?\n +cmd="(codex\w*)"`)
	steps := make(map[string][][]string) // by the state from which they lead
	for _, m := range step.FindAllStringSubmatch(script, -1) {
		steps[m[1]] = append(steps[m[1]], m)
	}
	names := map[string]string{"codex": ""}
	for states := []string{"codex"}; len(states) > 0; states = states[1:] {
		for _, m := range steps[states[0]] {
			word, to := m[2], m[3]
			if _, done := names[to]; done || word == "help" || !strings.HasSuffix(to, "__"+strings.ReplaceAll(word, "-", "__")) {
				continue
			}
			names[to] = strings.TrimSpace(names[states[0]] + " " + word)
			states = append(states, to)
		}
	}
	return names
}

// commandFlags returns the flags of all commands in a completion script, by command with "codex" before
// it.
func commandFlags(script string) map[string][]string {
	completedCommand := regexp.MustCompile(`^ {8}(codex\w*)\)$`)
	completedFlags := regexp.MustCompile(`^ {12}opts="(.*)"$`)
	completedValue := regexp.MustCompile(`^ {16}(-[\w-]+)\)$`)
	states := commandStates(script)
	list := make(map[string][]string)
	command := ""
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\r\n")
		if m := completedCommand.FindStringSubmatch(line); m != nil {
			name, known := states[m[1]]
			command = strings.TrimSpace("codex " + name)
			if !known {
				command = ""
			}
		}
		if command == "" {
			continue
		}
		if m := completedFlags.FindStringSubmatch(line); m != nil {
			for word := range strings.FieldsSeq(m[1]) {
				if strings.HasPrefix(word, "-") {
					list[command] = append(list[command], word)
				}
			}
		}
		if m := completedValue.FindStringSubmatch(line); m != nil {
			if i := slices.Index(list[command], m[1]); i >= 0 {
				list[command][i] += "="
			}
		}
	}
	for _, flags := range list {
		slices.Sort(flags)
	}
	return list
}
