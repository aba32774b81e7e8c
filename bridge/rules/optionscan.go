package rules

import (
	"slices"
	"strings"
)

// usedOption is an option of a command. An ambiguous abbreviation may stand for each of the options.
type usedOption struct {
	options  []*option
	value    word
	hasValue bool
	valueAt  int // the index of the word that is the value; 0: it is in the option's word, or there is none
}

// optionScan separates the words of a command into options and operands.
type optionScan struct {
	used     []usedOption
	unknown  []word // words that may be any option
	operands []word // with the name of the command, and with options that are not in the table
	collects bool   // operands are wanted
	row      *optionRow
	rows     []*optionRow // of the program and of its subcommands so far

	// path is where the rule's program and subcommands are in the table. A word of which a part is unknown may be
	// the next of them.
	path []*programNode
}

// scan reads the words of a command whose program is at n.
func (s *optionScan) scan(words []word, n *programNode) {
	s.operand(&words[0])
	s.enter(n)
	left, ended := s.row.operands, false
	for i := 1; i < len(words); i++ {
		w := &words[i]
		switch {
		case ended:
			s.operand(w)
			continue
		case w.kind == known && w.text == "--":
			ended = true
			continue
		case s.row.oldStyle && i == 1 && s.oldLetters(words):
			i += s.valuesOfOldLetters(words)
			continue
		}
		if more, ok := s.option(words, i); ok {
			i += more
			continue
		}
		s.operand(w)
		if w.kind != known && s.collects && (w.prefix == "" || s.row.keys) {
			last := &s.operands[len(s.operands)-1]
			last.kind = max(last.kind, expanded) // it may be an option
		}
		if w.kind == known && w.mayBeOption() {
			continue
		}
		switch next := s.step(n, w); {
		case next != nil:
			n = next
			s.enter(n)
			left = s.row.operands
		case len(n.next) > 0 && w.kind == known:
			s.row = n.unlisted()
		case left > 0 && w.kind <= single:
			left--
			ended = left == 0
		}
	}
}

// operand records an operand if they are wanted.
func (s *optionScan) operand(w *word) {
	if s.collects {
		s.operands = append(s.operands, *w)
	}
}

// enter makes the row of a program or subcommand the one for the next words.
func (s *optionScan) enter(n *programNode) {
	s.row = n.options()
	s.rows = append(s.rows, s.row)
}

// step returns the subcommand of n that a word names; nil if it names none.
func (s *optionScan) step(n *programNode, w *word) *programNode {
	if w.kind == known {
		return n.next[w.text]
	}
	for i, one := range s.path {
		if one == n && i+1 < len(s.path) {
			return s.path[i+1]
		}
	}
	return nil
}

// option reads the word at i. ok is false if it is an operand, may be one, or is not all in the table. more is the
// number of further words that belong to the option.
func (s *optionScan) option(words []word, i int) (more int, ok bool) {
	w := &words[i]
	if w.kind != known {
		return 0, s.partlyKnown(w)
	}
	text := w.text
	name, value, joined := strings.Cut(text, "=")
	switch {
	case s.row.keys:
		if o := s.row.named(name); o != nil && joined {
			s.use([]*option{o}, value, true)
			return 0, true
		}
		return 0, false
	case len(text) < 2 || text[0] != '-':
		return 0, false
	}
	if s.row.signals && !joined && !s.hasSignal() {
		if signal := signalName(text[1:]); signal != "" {
			s.use(s.row.long("--signal"), signal, true)
			return 0, true
		}
	}
	if options := s.row.long(name); len(options) > 0 && (len(text) > 2 || s.row.words) {
		return s.longOption(options, value, joined, words, i), true
	}
	if strings.HasPrefix(text, "--") || s.row.words {
		return 0, false
	}
	return s.letters(words, i)
}

// longOption records an option with a value in the same word or in the next.
func (s *optionScan) longOption(options []*option, value string, joined bool, words []word, i int) (more int) {
	if joined {
		s.use(options, value, true)
		return 0
	}
	if options[0].value == ownValue {
		return s.useNext(options, words, i)
	}
	s.use(options, "", false)
	return 0
}

// letters reads options of one letter each in the word at i. all is false if the table does not have one of them.
func (s *optionScan) letters(words []word, i int) (more int, all bool) {
	text := words[i].text
	all = true
	for at := 1; at < len(text); at++ {
		o := s.row.short(text[at])
		switch {
		case o == nil && text[at] == '=' && at > 1: // -i=true
			return 0, all
		case o == nil:
			all = false
		case o.value == noValue || o.value == joinedValue && at+1 == len(text):
			s.use([]*option{o}, "", false)
		case at+1 < len(text):
			s.use([]*option{o}, strings.TrimPrefix(text[at+1:], "="), true)
			return 0, all
		default:
			return s.useNext([]*option{o}, words, i), all
		}
	}
	return 0, all
}

// use records an option. Its value counts unless it turns off an option without values.
func (s *optionScan) use(options []*option, value string, joined bool) {
	if joined && options[0].value == noValue && (value == "false" || value == "0") {
		return
	}
	if s.row.signals && joined && options[0] == s.row.named("--signal") {
		if name := signalName(value); name != "" {
			value = name
		}
	}
	s.used = append(s.used, usedOption{options: options, value: literal(value), hasValue: joined})
}

// useNext records an option whose value is the word behind i, and returns 1 if that word is surely one word.
func (s *optionScan) useNext(options []*option, words []word, i int) int {
	if i+1 >= len(words) {
		s.use(options, "", false)
		return 0
	}
	next := words[i+1]
	if next.kind != known {
		s.used = append(s.used, usedOption{options: options, value: next, hasValue: true})
	} else {
		s.use(options, next.text, true)
	}
	s.used[len(s.used)-1].valueAt = i + 1
	if next.kind > single {
		return 0
	}
	return 1
}

// partlyKnown reads a word of which a part is unknown, and reports whether it is no operand.
func (s *optionScan) partlyKnown(w *word) bool {
	name, value, joined := strings.Cut(w.prefix, "=")
	if joined && (s.row.keys || strings.HasPrefix(name, "-")) {
		if options := s.row.long(name); len(options) > 0 {
			s.used = append(s.used, usedOption{options: options, value: word{kind: w.kind, prefix: value, suffix: w.suffix}, hasValue: true})
			return true
		}
	}
	if w.prefix == "" || s.row.keys || w.prefix[0] == '-' {
		s.unknown = append(s.unknown, *w)
	}
	return strings.HasPrefix(w.prefix, "-")
}

// oldLetters reports whether the first word is options without a dash.
func (s *optionScan) oldLetters(words []word) bool {
	w := &words[1]
	if w.kind != known || w.text == "" || w.text[0] == '-' {
		return false
	}
	for i := range len(w.text) {
		if s.row.short(w.text[i]) == nil {
			return false
		}
	}
	return true
}

// valuesOfOldLetters records the options of the first word, and returns the number of further words that are values.
func (s *optionScan) valuesOfOldLetters(words []word) (more int) {
	text := words[1].text
	for i := range len(text) {
		o := s.row.short(text[i])
		if o.value == ownValue {
			more += s.useNext([]*option{o}, words, 1+more)
			continue
		}
		s.use([]*option{o}, "", false)
	}
	return more
}

// hasSignal reports whether the command names a signal. Behind it, -1 is a process group.
func (s *optionScan) hasSignal() bool {
	signal := s.row.named("--signal")
	return slices.ContainsFunc(s.used, func(u usedOption) bool { return u.options[0] == signal })
}

// signalNames are the signals whose numbers are the same everywhere.
var signalNames = map[string]string{"1": "HUP", "2": "INT", "3": "QUIT", "6": "ABRT", "9": "KILL", "14": "ALRM", "15": "TERM"}

// knownSignals are names of signals, without SIG.
var knownSignals = setOf("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "CHLD", "CONT", "STOP", "TSTP",
	"TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "SYS")

// signalName returns one spelling for all spellings of a signal; "" if the text is none.
func signalName(text string) string {
	if name := signalNames[text]; name != "" {
		return name
	}
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	switch {
	case knownSignals[name]:
		return name
	case text != "" && strings.Trim(text, "0123456789") == "":
		return text
	}
	return ""
}
