package rules

import "strings"

// Split returns the argument vector that Codex has joined to a text with shlex, as it does
// in its questions. It is false for a text that shlex would not have written so.
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
