package argv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/methods"
)

// flagSpec describes one flag.
type flagSpec struct {
	name    string   // the long name
	aliases []string // its short name and aliases
	values  arity
	row     *Flag // nil for a flag of commands.txt
}

type arity uint8

const (
	noValue     arity = iota
	oneValue          // the next argument, whatever it is
	threeValues       // the next three
	manyValues        // all arguments up to the next flag (measured: `codex -i x app-server` opens two images)
)

// Flag says what the policy does with a flag of some commands, as a row of flags.txt does.
type Flag struct {
	Rule         string   // the name of the policy's rule; "": there is none
	Unchecked    []string // the uses in which it needs no check
	Since, Until string   // as in methods.Row
	Reason, Hint string   // of the rules drop and refuse
}

// Uses of Codex in which a flag may need no check.
const (
	InExec     = "exec"
	InTerminal = "terminal"
)

// flagTable has the flags of flags.txt by command, with those of every command.
type flagTable map[string][]flagSpec

// Keys of a flagTable that are no commands.
const (
	everyCommand = "*"
	noCommand    = "codex"
)

// flags parses the table at the first use. A test parses it, too.
var flags = sync.OnceValue(func() flagTable {
	t, err := parseFlags(methods.FlagTable)
	if err != nil {
		panic(err)
	}
	return t
})

var arities = map[string]arity{"none": noValue, "one": oneValue, "three": threeValues, "many": manyValues}

func parseFlags(text string) (flagTable, error) {
	t := make(flagTable)
	err := methods.EachRow("flags.txt", text, 9, func(cells []string) error {
		names := strings.Split(cells[0], ", ")
		spec := flagSpec{name: names[0], aliases: names[1:], row: &Flag{Rule: cells[3], Since: cells[5], Until: cells[6], Reason: cells[7], Hint: cells[8]}}
		var ok bool
		if spec.values, ok = arities[cells[2]]; !ok {
			return fmt.Errorf("it takes %q values", cells[2])
		}
		if cells[4] != "" {
			spec.row.Unchecked = strings.Split(cells[4], ", ")
		}
		for command := range strings.SplitSeq(cells[1], ", ") {
			t[command] = append(t[command], spec)
		}
		return nil
	})
	for command := range t {
		if command != everyCommand {
			t[command] = append(t[command], t[everyCommand]...)
		}
		err = errors.Join(err, checkNames(command, t[command]))
	}
	return t, err
}

// checkNames returns an error if two rows have the same flag of a command: only one of them would count.
func checkNames(command string, table []flagSpec) error {
	seen := make(map[string]bool)
	for _, spec := range table {
		for _, name := range append([]string{spec.name}, spec.aliases...) {
			if seen[name] {
				return fmt.Errorf("flags.txt: two rows have %s of %s", name, command)
			}
			seen[name] = true
		}
	}
	return nil
}

func (s flagSpec) is(name string) bool { return s.name == name || slices.Contains(s.aliases, name) }

// FindFlag returns the row of a flag of a command, which is "codex" for the flags before a command, or nil.
func FindFlag(command, name string) *Flag {
	table := flags()[command]
	if i := slices.IndexFunc(table, func(s flagSpec) bool { return s.is(name) }); i >= 0 {
		return table[i].row
	}
	return nil
}

// IsUnchecked reports whether a flag needs no check in a use of Codex.
func (f *Flag) IsUnchecked(use string) bool { return f != nil && slices.Contains(f.Unchecked, use) }

// isUnjudged reports whether the table does not say what to do with a flag.
func (f *Flag) isUnjudged() bool { return f != nil && f.Rule == "" && f.Unchecked == nil }

// Override returns the override of the configuration at args[at], or an item without a name.
func Override(args []string, at int) Item {
	if item := parseFlag(flags()[everyCommand], args, at); item.State != Unknown {
		return item
	}
	return Item{}
}

func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") && len(arg) > 1 }

// parseFlag parses the flag at args[at].
func parseFlag(table []flagSpec, args []string, at int) Item {
	arg := args[at]
	item := Item{At: at, Len: 1}
	name, value, attached := arg, "", false
	if strings.HasPrefix(arg, "--") {
		name, value, attached = strings.Cut(arg, "=")
	} else if len(arg) > 2 {
		// -cVALUE and -c=VALUE are equal (measured).
		name, value, attached = arg[:2], strings.TrimPrefix(arg[2:], "="), true
	}
	i := slices.IndexFunc(table, func(s flagSpec) bool { return s.is(name) })
	if i < 0 {
		item.Name, item.State = arg, Unknown
		if strings.HasPrefix(arg, "--") {
			item.Name = name
		}
		return item
	}
	item.Name, item.Value, item.Flag = table[i].name, value, table[i].row
	switch {
	case table[i].values == noValue:
		if attached {
			item.State = Invalid
		}
	case table[i].values == threeValues:
		item.Len = min(4, len(args)-at)
		values := args[at+1 : at+item.Len]
		if attached || len(values) < 3 || slices.ContainsFunc(values, isFlag) { // Codex refuses these (measured)
			item.State = Invalid
		} else {
			item.Value = values[0]
		}
	case attached:
	case table[i].values == manyValues:
		for next := at + 1; next < len(args) && !strings.HasPrefix(args[next], "-"); next++ {
			item.Len++
		}
	case at+1 == len(args):
		item.State = Invalid
	default:
		item.Len, item.Value = 2, args[at+1]
		if isFlag(item.Value) {
			// Codex refuses a value that starts with a dash. A Codex that accepted it would look for
			// its command after it, as this parser does.
			item.State = Invalid
		}
	}
	return item
}
