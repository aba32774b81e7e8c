package argv

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/methods"
)

// Verdict is what the bridge does with a command of Codex under enforce; see commands.txt.
type Verdict string

// The verdicts of commands.
const (
	Bridged  Verdict = "bridge"
	Group    Verdict = "group"
	Harmless Verdict = "harmless"
	Listed   Verdict = "listed"
	Door     Verdict = "door"
	Never    Verdict = "never"
)

var verdicts = []Verdict{Bridged, Group, Harmless, Listed, Door, Never}

// Command is one command of Codex, or one nested in another.
type Command struct {
	Name    string // with its parents: "mcp list"
	Verdict Verdict
	Since   string // as in methods.Row
	Until   string
	Why     string

	aliases []string // of the last word
	flags   []flagSpec
	words   bool // takes a word
}

// commandTable has the commands by name.
var commandTable = sync.OnceValue(func() map[string]*Command {
	table, err := parseCommands(methods.CommandTable)
	if err != nil {
		panic(err) // a test reads the table
	}
	return table
})

func parseCommands(text string) (map[string]*Command, error) {
	table := make(map[string]*Command)
	err := methods.EachRow("commands.txt", text, 6, func(cells []string) error {
		names := strings.Split(cells[0], ", ")
		c := &Command{Name: names[0], Verdict: Verdict(cells[1]), Since: cells[3], Until: cells[4], Why: cells[5], aliases: names[1:]}
		if !slices.Contains(verdicts, c.Verdict) || c.Why == "" {
			return errors.New("it needs a verdict and a reason")
		}
		for _, word := range strings.Fields(cells[2]) {
			if word == "WORD" {
				c.words = true
				continue
			}
			names := strings.Split(word, "/")
			spec := flagSpec{name: strings.TrimSuffix(names[0], "="), aliases: names[1:]}
			if spec.name != names[0] {
				spec.values = oneValue
			}
			c.flags = append(c.flags, spec)
		}
		if table[c.Name] != nil {
			return errors.New("it is the second row of this command")
		}
		table[c.Name] = c
		return nil
	})
	return table, err
}

// LookUp returns the row of a command, or nil if the table has none.
func LookUp(words ...string) *Command { return commandTable()[strings.Join(words, " ")] }

// Commands returns all rows, sorted by name.
func Commands() []*Command {
	rows := make([]*Command, 0, len(commandTable()))
	for _, c := range commandTable() {
		rows = append(rows, c)
	}
	slices.SortFunc(rows, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// FirstWords returns the commands that are not nested in others.
func FirstWords() []string {
	var names []string
	for _, c := range Commands() {
		if !strings.Contains(c.Name, " ") {
			names = append(names, c.Name)
		}
	}
	return names
}

// firstWord returns a command that is not nested, by its name or alias, or nil.
func firstWord(word string) *Command {
	if strings.Contains(word, " ") {
		return nil
	}
	for _, c := range commandTable() {
		if !strings.Contains(c.Name, " ") && (c.Name == word || slices.Contains(c.aliases, word)) {
			return c
		}
	}
	return nil
}

// Nested returns the command that is nested in c under this word, or nil.
func (c *Command) Nested(word string) *Command {
	if strings.Contains(word, " ") || strings.HasPrefix(word, "-") {
		return nil
	}
	return commandTable()[c.Name+" "+word]
}

// HasNested reports whether other commands are nested in c.
func (c *Command) HasNested() bool {
	for name := range commandTable() {
		if rest, ok := strings.CutPrefix(name, c.Name+" "); ok && !strings.HasPrefix(rest, "-") {
			return true
		}
	}
	return false
}

// TakesWord reports whether a harmless command takes a word.
func (c *Command) TakesWord() bool { return c.words }

// FindDoor returns the shortest command with the verdict Door that these words begin with, or nil.
func FindDoor(words []string) *Command {
	for n := 1; n <= len(words); n++ {
		if c := LookUp(words[:n]...); c != nil && c.Verdict == Door {
			return c
		}
	}
	return nil
}
