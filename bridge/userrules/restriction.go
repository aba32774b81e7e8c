package userrules

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/rules"
)

// reading is how Codex may read a line.
type reading int

const (
	asOne      reading = iota // not split: only rules for the line with its shell match
	sameWords                 // split into the words of rules.Commands, or not
	otherWords                // perhaps split into other words
)

// readingOf returns how Codex may read a line. Measured with 0.169 and 0.171: it does not split a line with
// one of unsplitChars outside quotes, or that expands something in double quotes.
func readingOf(line string) reading {
	same, quote := sameWords, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
		case quote == '"' && c == '\\':
			i++
		case quote == '"' && (c == '`' || c == '$' && expands(line[i+1:])):
			return asOne
		case quote == '"':
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(unsplitChars, c) >= 0:
			return asOne
		case c == '\\' || c == '#': // the quotes behind it may not be quotes
			return otherWords
		case c < ' ' && c != '\t' && c != '\n' || c > '~':
			same = otherWords
		}
	}
	if quote != 0 {
		return otherWords
	}
	return same
}

const unsplitChars = "$`<>(){}*?["

// expands reports whether a $ before the text starts an expansion.
func expands(text string) bool {
	return text != "" && (text[0] == '_' || text[0] == '{' || text[0] == '(' || 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z')
}

// Restricting returns the rules by which Codex may ask about a line or refuse it, also if no rule lets it out.
func (s *Set) Restricting(line string) []*Rule { return s.restrictions(line, rules.Commands(line)) }

// restrictions returns the rules that Codex may apply to a line, and by which it asks or refuses.
func (s *Set) restrictions(line string, commands []rules.Command) (all []*Rule) {
	how := readingOf(line)
	if how == sameWords && rules.Outside(line) != "" && strings.Contains(line, "let") {
		how = otherWords // rules.Commands omits let, since it computes for bash
	}
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Decision != Allow && (r.isForShellLine(line) || r.mayRestrict(line, commands, how)) {
			all = append(all, r)
		}
	}
	return all
}

// mayRestrict reports whether the rule may match a command of a line that Codex has split.
func (r *Rule) mayRestrict(line string, commands []rules.Command, how reading) bool {
	switch how {
	case asOne:
		return false
	case sameWords:
		// Codex may keep quotes and backslashes in a word that rules.Commands removes.
		hasQuotes := func(word string) bool { return strings.ContainsAny(word, "\\\"'`$") }
		plain := Rule{Pattern: r.Pattern, AnyCase: r.AnyCase}
		if n := slices.IndexFunc(r.Pattern, func(words []string) bool { return slices.ContainsFunc(words, hasQuotes) }); n >= 0 {
			plain.Pattern = r.Pattern[:n]
		}
		return slices.ContainsFunc(commands, plain.mayMatch)
	}
	// Each word that Codex may find is a part of the line without its quotes.
	text := withoutQuotes(line)
	if r.AnyCase {
		text = strings.ToLower(text)
	}
	return !slices.ContainsFunc(r.Pattern, func(words []string) bool {
		return !slices.ContainsFunc(words, func(word string) bool {
			if word = withoutQuotes(word); r.AnyCase {
				return !isASCII(text) || !isASCII(word) || strings.Contains(text, strings.ToLower(word))
			}
			return strings.Contains(text, word)
		})
	})
}

// withoutQuotes removes quotes, backslashes, and white space.
func withoutQuotes(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("\\\"'", r)
	}), "")
}
