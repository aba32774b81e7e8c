package rules

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
)

// optionRule is what a deny or ask rule demands of a command whose options are known by their meaning: some options, in
// any order and spelling, and operands in their order.
type optionRule struct {
	demands  []demand
	operands []wordGlob
	required []string       // words that a command of known words must have to match
	path     []*programNode // of the rule's program and subcommands
	later    []wordGlob     // the rule's words, if only a command shows whose options they are
}

// demand is one option that a command must have.
type demand struct {
	options []*option // one of them
	value   *wordGlob // nil: any, or none
}

// compileOptions returns what a rule's words demand; nil if the rule names no options that the table has. asWritten are
// the words that may have other spellings, which the rule does not match. program is the name for which the table has
// no such options.
func compileOptions(globs []wordGlob) (o *optionRule, asWritten []string, program string) {
	if len(globs) == 0 || !slices.ContainsFunc(globs[1:], func(g wordGlob) bool { return g.kind == literalWord || g.kind == patternWord }) {
		return nil, nil, ""
	}
	if globs[0].kind != literalWord {
		return laterRule(globs), nil, ""
	}
	key := programKey(globs[0].text)
	n := optionTable()[key]
	if n == nil {
		for i := range globs[1:] {
			if g := &globs[1+i]; g.hasOtherSpelling() {
				asWritten = append(asWritten, g.text)
			}
		}
		return nil, asWritten, key
	}
	c := optionCompiler{globs: globs, rule: &optionRule{path: []*programNode{n}}, row: n.options()}
	if !c.compile(n) {
		return laterRule(globs), nil, ""
	}
	if len(c.rule.demands) == 0 {
		return nil, c.asWritten, c.name
	}
	for i := range c.rule.operands[1:] {
		if g := &c.rule.operands[1+i]; g.kind == literalWord {
			c.rule.required = append(c.rule.required, g.text)
		}
	}
	return c.rule, c.asWritten, c.name
}

// laterRule returns the rule whose options only a command shows; nil if it has no options.
func laterRule(globs []wordGlob) *optionRule {
	for i := range globs[1:] {
		if text := globs[1+i].text; strings.HasPrefix(text, "-") || strings.HasPrefix(text, "{-") {
			return &optionRule{later: globs}
		}
	}
	return nil
}

// hasOtherSpelling reports whether a program may take a word's options in another spelling: letters also in another
// bundle or as a long option, and a value also as the next word.
func (g *wordGlob) hasOtherSpelling() bool {
	if g.kind != literalWord && g.kind != patternWord || len(g.text) < 2 || g.text[0] != '-' || g.text == "--" {
		return false
	}
	return g.text[1] != '-' || strings.Contains(g.text, "=")
}

// optionCompiler reads the words of a rule.
type optionCompiler struct {
	globs     []wordGlob
	rule      *optionRule
	row       *optionRow
	rows      []*optionRow // of the program and subcommands of one command; nil: the rule shows them
	signal    bool         // a word before names a signal
	asWritten []string
	name      string // of the program or subcommand for asWritten
}

// compile reads the words of a rule for the program at n. It returns false if a subcommand is no plain word.
func (c *optionCompiler) compile(n *programNode) bool {
	c.rule.operands = append(c.rule.operands, c.globs[0])
	c.name = n.name
	left, ended := c.row.operands, false
	for i := 1; i < len(c.globs); i++ {
		g := &c.globs[i]
		switch {
		case ended:
		case g.kind == literalWord && g.text == "--":
			ended = true
			continue
		default:
			more, ok := c.demandOfRows(i)
			if ok {
				i += more
				continue
			}
			if g.kind == literalWord && strings.HasPrefix(g.text, "-") && len(g.text) > 1 && !c.signal {
				c.asWritten = append(c.asWritten, g.text)
			}
		}
		c.rule.operands = append(c.rule.operands, *g)
		switch {
		case ended || strings.HasPrefix(g.text, "-"):
			continue
		case c.rows != nil || n == nil || len(n.next) == 0:
			if left > 0 && c.rows == nil && g.kind != restOfWords {
				left--
				ended = left == 0
			}
			continue
		case g.kind != literalWord:
			return false
		}
		c.name += " " + g.text
		if next := n.next[g.text]; next != nil {
			n, c.row = next, next.options()
			left = c.row.operands
			c.rule.path = append(c.rule.path, n)
			continue
		}
		c.row, n = n.unlisted(), nil
	}
	return true
}

// demandOfRows is demand with the row of the subcommand, or else with one before it.
func (c *optionCompiler) demandOfRows(i int) (more int, ok bool) {
	if c.rows == nil {
		return c.demand(i)
	}
	for _, row := range slices.Backward(c.rows) {
		if c.row = row; !ok {
			more, ok = c.demand(i)
		}
	}
	return more, ok
}

// demand reads the word at i as options. more is the number of further words that belong to it.
func (c *optionCompiler) demand(i int) (more int, ok bool) {
	g := &c.globs[i]
	switch {
	case g.kind == patternWord:
		return 0, c.pattern(g)
	case g.kind != literalWord:
		return 0, false
	case c.signal && len(g.text) > 1 && signalName(g.text[1:]) != "": // a process group
		return 0, false
	}
	words := []word{{}, literal(g.text)}
	if i+1 < len(c.globs) {
		words = append(words, c.globs[i+1].asWord())
	}
	s := optionScan{row: c.row}
	old := c.row.oldStyle && i == 1 && s.oldLetters(words)
	if old {
		s.valuesOfOldLetters(append(words[:2], make([]word, len(g.text))...))
		more = c.oldValues(s.used, i)
	} else if more, ok = s.option(words, 1); !ok {
		return 0, false
	}
	for _, u := range s.used {
		d := demand{options: u.options}
		switch {
		case old && u.valueAt > 0:
			if at := i + u.valueAt - 1; at < i+1+more {
				d.value = &c.globs[at]
			}
		case u.valueAt > 0 && more > 0:
			d.value = &c.globs[i+1]
		case u.hasValue && u.valueAt == 0 && !(u.options[0].value == noValue && u.value.text == "true"):
			d.value = &wordGlob{kind: literalWord, text: u.value.text}
		}
		if d.value != nil && d.value.kind == literalWord && c.row.signals {
			if name := signalName(d.value.text); name != "" {
				d.value, c.signal = &wordGlob{kind: literalWord, text: name}, true
			}
		}
		c.add(d)
	}
	return more, true
}

// oldValues returns how many words behind i are values of the options in u: none from ** on.
func (c *optionCompiler) oldValues(used []usedOption, i int) (n int) {
	for _, u := range used {
		if u.valueAt == 0 {
			continue
		}
		if i+1+n >= len(c.globs) || c.globs[i+1+n].kind == restOfWords {
			break
		}
		n++
	}
	return n
}

// asWord returns a word that is known if the glob is.
func (g *wordGlob) asWord() word {
	switch g.kind {
	case literalWord:
		return literal(g.text)
	case restOfWords:
		return word{kind: unknownWords}
	}
	return word{kind: single}
}

// add adds a demand. An option that combines others demands each.
func (c *optionCompiler) add(d demand) {
	if len(d.options) == 1 && len(d.options[0].parts) > 1 {
		for _, part := range d.options[0].parts {
			c.rule.demands = append(c.rule.demands, demand{options: []*option{part}})
		}
		return
	}
	c.rule.demands = append(c.rule.demands, d)
}

// pattern reads a glob as one of several options, or as an option with a glob as its value.
func (c *optionCompiler) pattern(g *wordGlob) bool {
	if strings.Contains(g.text, `\`) {
		return false
	}
	if list, ok := strings.CutPrefix(g.text, "{"); ok && strings.HasSuffix(list, "}") {
		return c.alternatives(strings.TrimSuffix(list, "}"))
	}
	name, value, joined := strings.Cut(g.text, "=")
	switch {
	case joined && !strings.ContainsAny(name, globMeta) && (c.row.keys || strings.HasPrefix(name, "-")):
		options := c.row.long(name)
		if len(options) == 0 {
			return false
		}
		c.valued(options, value)
		return true
	case c.row.keys || c.row.words:
		return false
	case len(g.prefix) > len("--") && strings.HasPrefix(g.prefix, "--"):
		d := demand{}
		c.row.each(func(o *option) {
			if slices.ContainsFunc(o.names, func(name string) bool { return strings.HasPrefix(name, "--") && g.matches(name) }) {
				d.options = append(d.options, o)
			}
		})
		if len(d.options) > 0 {
			c.rule.demands = append(c.rule.demands, d)
		}
		return len(d.options) > 0
	case len(g.prefix) >= len("-x") && g.prefix[1] != '-':
		o := c.row.short(g.prefix[1])
		if o == nil || o.value == noValue && g.text[2:] != "*" {
			return false
		}
		c.valued([]*option{o}, g.text[2:])
		return true
	}
	return false
}

// valued adds a demand for an option whose value is a glob.
func (c *optionCompiler) valued(options []*option, value string) {
	d := demand{options: options}
	if strings.Trim(value, "*") != "" {
		glob := compileWord(value)
		d.value = &glob
	}
	c.add(d)
}

// alternatives reads a list of options, of which a command must have one.
func (c *optionCompiler) alternatives(list string) bool {
	d := demand{}
	for text := range strings.SplitSeq(list, ",") {
		if strings.ContainsAny(text, globMeta) || len(text) < 2 || text[0] != '-' {
			return false
		}
		s := optionScan{row: c.row}
		if _, ok := s.option([]word{{}, literal(text)}, 1); !ok || len(s.used) != 1 || s.used[0].hasValue || len(s.used[0].options[0].parts) > 1 {
			return false
		}
		d.options = append(d.options, s.used[0].options...)
	}
	c.rule.demands = append(c.rule.demands, d)
	return true
}

// matches reports whether a command may have the options and operands that the rule demands.
func (o *optionRule) matches(n *node) bool {
	if n.opaque != "" || len(n.words) == 0 {
		return false
	}
	var program *programNode
	if o.later == nil {
		program = o.path[0]
	} else if n.words[0].kind == known {
		program = optionTable()[n.words[0].key()]
	}
	if program == nil || n.allKnown && slices.ContainsFunc(o.required, func(text string) bool { return !n.hasWord(text) }) {
		return false
	}
	path := o.path
	s := optionScan{path: path}
	s.scan(n.words, program)
	if o.later != nil {
		c := optionCompiler{globs: o.later, rule: new(optionRule), row: program.options(), rows: s.rows}
		c.compile(program)
		o = c.rule
		if len(o.demands) == 0 {
			return false
		}
	}
	for i := range o.demands {
		if !s.has(&o.demands[i]) {
			return false
		}
	}
	s = optionScan{path: path, collects: true, operands: make([]word, 0, len(n.words))}
	s.scan(n.words, program)
	return matchSequence(o.operands, s.operands, true)
}

// readsFirstWord reports whether the word behind the program's name may be an option although it has no dash.
func (o *optionRule) readsFirstWord() bool {
	row := noOptions
	if o.later == nil {
		row = o.path[0].options()
	}
	return row.oldStyle || row.keys
}

// has reports whether a command may have an option that a rule demands.
func (s *optionScan) has(d *demand) bool {
	for i := range s.used {
		u := &s.used[i]
		for _, one := range u.options {
			for _, part := range one.parts {
				if slices.Contains(d.options, part) && (d.value == nil || u.hasValue && d.value.possible(&u.value)) {
					return true
				}
			}
		}
	}
	for i := range s.unknown {
		if s.unknown[i].kind == single && s.unknown[i].prefix == "" {
			continue // a quoted word, such as "$branch", counts as an operand: most are
		}
		if slices.ContainsFunc(d.options, func(o *option) bool { return s.row.mayBe(&s.unknown[i], o) }) {
			return true
		}
	}
	return false
}

// LiteralOptions are options of a deny or ask rule that may have other spellings, which the rule does not match.
type LiteralOptions struct {
	Rule    config.Rule
	Options []string
	Program string // with the subcommand
}

// LiteralOptions returns the options of rules that match only as they are written.
func (s *Set) LiteralOptions() (all []LiteralOptions) {
	for i := range s.layers {
		for j := range s.layers[i].rules {
			r := &s.layers[i].rules[j]
			if r.decision == Allow || !r.shell {
				continue
			}
			if _, options, program := compileOptions(r.words); len(options) > 0 {
				all = append(all, LiteralOptions{*r.source, options, program})
			}
		}
	}
	return all
}
