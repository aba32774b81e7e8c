package rules

import (
	"slices"

	"codex-bridge.example/bridge/config"
)

// AskedCommand is a command of a line that a rule asks about.
type AskedCommand struct {
	Words []Word       // after quote removal, with the name of the program
	Rule  *config.Rule // must not be changed
}

// IsExact reports whether all words of the command are known.
func (a AskedCommand) IsExact() bool {
	return len(a.Words) > 0 && !slices.ContainsFunc(a.Words, func(w Word) bool { return !w.Known })
}

// Covers reports whether p is the start of the command, so that an answer to the question about the
// command answers the question of the rule r about p. The program's name counts by its last part, the
// other words as they are.
func (a AskedCommand) Covers(p Program, r *config.Rule) bool {
	var asks rule
	if len(a.Words) == 0 || r == nil || *a.Rule != *r || asks.compile(*r) != nil {
		return false
	}
	found := false
	for _, c := range p.commands(nil) {
		if !c.mayBe(&asks) {
			continue // r does not ask about it
		}
		if c.unknown != "" || !a.matches(c) {
			return false
		}
		found = true
	}
	return found
}

// matches reports whether c has the words of the command.
func (a AskedCommand) matches(c *startedCommand) bool {
	globs := make([]wordGlob, len(a.Words))
	for i, w := range a.Words {
		switch {
		case w.Known:
			globs[i] = wordGlob{kind: literalWord, text: w.Text}
		case w.Many:
			globs[i] = wordGlob{kind: restOfWords}
		default:
			globs[i] = wordGlob{kind: oneWord}
		}
	}
	name := c.names[0]
	if first := &globs[0]; first.kind == literalWord {
		if programKey(first.text) != programKey(name) {
			return false
		}
		first.text = name
	}
	return matchSequence(globs, slices.Concat([]word{literal(name)}, c.args), false)
}
