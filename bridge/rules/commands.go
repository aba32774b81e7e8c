package rules

import "strings"

// Split returns the argument vector that Codex has joined to a text with shlex, as in its
// questions. ok is false for a text that shlex would not have written.
func Split(text string) (argv []string, ok bool) {
	if strings.Contains(text, "\x00") {
		return nil, false
	}
	for len(text) > 0 {
		if text[0] == ' ' {
			return nil, false
		}
		var word strings.Builder
		for len(text) > 0 && text[0] != ' ' {
			n := 1
			switch c := text[0]; {
			case alphanumeric(c) || strings.IndexByte("_./+-,:@=]", c) >= 0:
				word.WriteByte(c)
			case c == '\'':
				end := strings.IndexByte(text[1:], '\'')
				if end < 0 {
					return nil, false
				}
				word.WriteString(text[1 : 1+end])
				n = end + 2
			case c == '"':
				for n < len(text) && text[n] != '"' {
					if text[n] == '\\' {
						if n++; n == len(text) || strings.IndexByte("$`\"\\", text[n]) < 0 {
							return nil, false
						}
					} else if text[n] == '$' || text[n] == '`' {
						return nil, false
					}
					word.WriteByte(text[n])
					n++
				}
				if n == len(text) {
					return nil, false
				}
				n++
			default:
				return nil, false
			}
			text = text[n:]
		}
		argv = append(argv, word.String())
		if text != "" {
			if text = text[1:]; text == "" {
				return nil, false
			}
		}
	}
	return argv, len(argv) > 0
}

// Command is a simple command of a line. Callers use it for other kinds of rules than a Set.
type Command struct {
	Words []Word
	// Opaque reports that the command is unknown, so it may be any command.
	Opaque bool
}

// Word is a word after quote removal.
type Word struct {
	Text  string
	Known bool // if false, Text is empty and the word may be any word
	Many  bool // the word is unknown and may be any number of words
}

// Commands returns the simple commands of a line as bash reads it, in their order. It omits the
// commands that these commands run.
func Commands(text string) []Command {
	r := reader{line: new(line)}
	var all []Command
	for _, n := range r.readText(text, readContext{shell: shellDialects["bash"]}) {
		c := Command{Opaque: n.opaque != "" && len(n.words) == 0}
		for i := range n.words {
			w := &n.words[i]
			c.Words = append(c.Words, Word{Text: w.text, Known: w.kind == known, Many: w.kind > single})
		}
		all = append(all, c)
	}
	return all
}
