package rules

import (
	"maps"
	"slices"
)

// AsWritten returns a set whose rules match options only as they are written.
func AsWritten(s *Set) *Set {
	c := &Set{expires: s.expires, now: s.now}
	for _, l := range s.layers {
		l.rules = slices.Clone(l.rules)
		for i := range l.rules {
			l.rules[i].options = nil
		}
		c.layers = append(c.layers, l)
	}
	return c
}

// OptionsOf are the options of a program or subcommand in the table.
type OptionsOf struct {
	Words                                      []string // the program and its subcommands
	Options                                    []OptionNames
	Abbreviates, Exact, Keys, Signals, Stopped bool
}

// OptionNames are the names of an option. Value is "", "=" or "=?", as in the table.
type OptionNames struct {
	Names []string
	Value string
	Parts int
}

// OptionTable returns the table.
func OptionTable() (all []OptionsOf) {
	var walk func(words []string, n *programNode)
	walk = func(words []string, n *programNode) {
		if n.text != "" {
			row := n.options()
			one := OptionsOf{Words: words, Abbreviates: row.abbreviates, Exact: row.words, Keys: row.keys, Signals: row.signals, Stopped: row.operands > 0 || len(n.next) > 0}
			for _, name := range row.sorted {
				if o := row.byName[name]; o.names[0] == name {
					one.Options = append(one.Options, OptionNames{o.names, map[valueKind]string{joinedValue: "=?", ownValue: "="}[o.value], len(o.parts)})
				}
			}
			all = append(all, one)
		}
		for _, name := range slices.Sorted(maps.Keys(n.next)) {
			walk(append(slices.Clone(words), name), n.next[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(optionTable())) {
		walk([]string{name}, optionTable()[name])
	}
	return all
}
