package rules

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed optiontable.txt
var optionTableText string

// valueKind is whether an option has a value.
type valueKind int

const (
	noValue     valueKind = iota
	joinedValue           // may have one in the same word
	ownValue              // has one in the same word, or else in the next
)

// option is an option of a program with all its names.
type option struct {
	names []string
	value valueKind
	parts []*option // the options that it stands for: itself, unless it combines others
}

// optionRow has the options of a program or of one of its subcommands.
type optionRow struct {
	byName      map[string]*option
	sorted      []string // all names, for abbreviations
	abbreviates bool     // long options may be abbreviated
	words       bool     // letters do not bundle, and -name is the same as --name
	keys        bool     // options are KEY=VALUE
	signals     bool     // -9 and -KILL are --signal
	oldStyle    bool     // the first word may be letters without a dash
	operands    int      // options end at this operand behind the subcommand; 0: at none
	program     *optionRow
}

// programNode is a program, or a subcommand, in the table.
type programNode struct {
	name   string // with the program
	traits []string
	text   string
	once   sync.Once
	row    *optionRow
	root   *programNode // nil for a program
	next   map[string]*programNode
}

// optionTable returns the programs of optiontable.txt by name.
var optionTable = sync.OnceValue(func() map[string]*programNode {
	top := new(programNode)
	var nodes []*programNode
	for line := range strings.Lines(optionTableText) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == ' ':
			for _, n := range nodes {
				n.text += line
			}
		default:
			heads, traits, _ := strings.Cut(line, ":")
			nodes = nil
			for head := range strings.SplitSeq(heads, ",") {
				for _, n := range top.add(strings.Fields(head)) {
					n.traits = strings.Fields(traits)
					nodes = append(nodes, n)
				}
			}
		}
	}
	return top.next
})

// add adds the nodes of a name whose words may have alternatives, and returns them.
func (n *programNode) add(words []string) (all []*programNode) {
	if len(words) == 0 {
		return []*programNode{n}
	}
	if n.next == nil {
		n.next = make(map[string]*programNode)
	}
	for name := range strings.SplitSeq(words[0], "|") {
		child := n.next[name]
		if child == nil {
			child = &programNode{name: strings.TrimSpace(n.name + " " + name)}
			if child.root = n.root; n.root == nil && n.name != "" {
				child.root = n
			}
			n.next[name] = child
		}
		all = append(all, child.add(words[1:])...)
	}
	return all
}

// noOptions is the row of a subcommand without one.
var noOptions = new(optionRow)

// options returns the row of a node.
func (n *programNode) options() *optionRow {
	n.once.Do(func() {
		n.row = noOptions
		if n.text != "" {
			n.row = compileRow(n.text, n.traits)
		}
		if n.root == nil || !slices.Contains(n.root.traits, "inherits") {
			return
		}
		if n.row == noOptions {
			n.row = n.root.options()
			return
		}
		n.row.program, n.row.words = n.root.options(), n.root.options().words
	})
	return n.row
}

// unlisted returns the row for a subcommand of n that the table does not have.
func (n *programNode) unlisted() *optionRow {
	root := n
	if n.root != nil {
		root = n.root
	}
	if slices.Contains(root.traits, "inherits") {
		return root.options()
	}
	return noOptions
}

// compileRow returns the row of options in the form of optiontable.txt.
func compileRow(text string, traits []string) *optionRow {
	r := &optionRow{byName: make(map[string]*option)}
	for _, trait := range traits {
		switch trait {
		case "abbrev":
			r.abbreviates = true
		case "stops":
			r.operands = 1
		case "stops2":
			r.operands = 2
		case "words":
			r.words = true
		case "keys":
			r.keys = true
		case "signals":
			r.signals = true
		case "old":
			r.oldStyle = true
		}
	}
	combined := map[*option]string{}
	for field := range strings.FieldsSeq(text) {
		o := new(option)
		o.parts = []*option{o}
		names, parts, combines := strings.Cut(field, ":-")
		if text, ok := strings.CutSuffix(names, "=?"); ok {
			names, o.value = text, joinedValue
		} else if text, ok := strings.CutSuffix(names, "="); ok {
			names, o.value = text, ownValue
		}
		for name := range strings.SplitSeq(names, ",") {
			o.names = append(o.names, name)
			r.byName[name] = o
		}
		if combines {
			combined[o] = "-" + parts
		}
	}
	for o, names := range combined {
		o.parts = nil
		for name := range strings.SplitSeq(names, "+") {
			o.parts = append(o.parts, r.byName[name])
		}
	}
	r.sorted = slices.Sorted(maps.Keys(r.byName))
	return r
}

// named returns the option with a name; nil if there is none.
func (r *optionRow) named(name string) *option {
	if o := r.byName[name]; o != nil || r.program == nil {
		return o
	}
	return r.program.byName[name]
}

// short returns the option of a letter; nil if there is none.
func (r *optionRow) short(letter byte) *option {
	if r.words {
		return nil
	}
	return r.named(string([]byte{'-', letter}))
}

// long returns the options that a long name, or the only name of a key, may stand for. An ambiguous abbreviation
// may stand for each.
func (r *optionRow) long(name string) (all []*option) {
	if r.words && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	if o := r.named(name); o != nil {
		return []*option{o}
	}
	if !r.abbreviates || len(name) < len("--x") || !strings.HasPrefix(name, "--") {
		return nil
	}
	at, _ := slices.BinarySearch(r.sorted, name)
	for ; at < len(r.sorted) && strings.HasPrefix(r.sorted[at], name); at++ {
		if o := r.byName[r.sorted[at]]; !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

// each calls f for each option of the row.
func (r *optionRow) each(f func(*option)) {
	for name, o := range r.byName {
		if name == o.names[0] {
			f(o)
		}
	}
	if r.program != nil {
		r.program.each(f)
	}
}

// mayBe reports whether a word, of which a part is unknown, may be the option.
func (r *optionRow) mayBe(w *word, o *option) bool {
	for _, name := range o.names {
		if r.words || r.keys || strings.HasPrefix(name, "--") {
			if r.keys {
				name += "="
			}
			if strings.HasPrefix(name, w.prefix) && (w.suffix == "" || w.prefix != "" && o.value != noValue || strings.HasSuffix(name, w.suffix)) {
				return true
			}
			continue
		}
		if r.mayHaveLetter(w, name[len(name)-1], o.value != noValue) {
			return true
		}
	}
	return false
}

// mayHaveLetter reports whether a word, of which a part is unknown, may be an option with a letter.
func (r *optionRow) mayHaveLetter(w *word, letter byte, hasValue bool) bool {
	for i := range len(w.prefix) {
		c := w.prefix[i]
		switch {
		case i == 0:
			if c != '-' {
				return false
			}
		case c == letter:
			return true
		default:
			if o := r.short(c); o == nil || o.value != noValue {
				return false
			}
		}
	}
	if hasValue && w.prefix != "" {
		return true
	}
	for i := range len(w.suffix) {
		if r.short(w.suffix[i]) == nil {
			return false
		}
	}
	return !hasValue || w.suffix == "" || w.suffix[len(w.suffix)-1] == letter
}
