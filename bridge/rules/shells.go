package rules

import "strings"

// harmlessFlags are the options of a shell that do not change how it runs a text.
const harmlessFlags = "celuxf"

// shellHandler returns the handler of shells that read d: it reads the text of -c, the name of a
// script, or a here-document.
func shellHandler(d dialect) handler {
	return func(r *reader, n *node, c readContext) {
		n.wrapper = true
		unknown := func(why string) {
			n.transparent = false
			r.addOpaque(n, why)
		}
		c.shell = d
		stdin := c.stdin
		if len(n.words) == 2 && (n.words[1].text == "--version" || n.words[1].text == "--help") {
			return
		}
		c = c.deeper()
		words, plain, text, input := n.words[1:], true, false, false
		for len(words) > 0 {
			w := &words[0]
			if w.kind != known && r.isFileName(w) {
				break
			}
			if w.kind != known {
				unknown(unknownText)
				return
			}
			if !w.mayBeOption() {
				break
			}
			words = words[1:]
			if w.text == "--" || w.text == "-" {
				break
			}
			if strings.HasPrefix(w.text, "--") {
				plain = plain && (w.text == "--login" || w.text == "--norc" || w.text == "--noprofile" || w.text == "--posix")
				if w.text == "--rcfile" || w.text == "--init-file" || w.text == "--emulate" {
					words = words[min(1, len(words)):]
				}
				continue
			}
			for _, letter := range []byte(w.text[1:]) {
				switch letter {
				case 'c':
					text = true
				case 's':
					input = true
				case 'o', 'O':
					plain = plain && len(words) > 0 && (words[0].text == "pipefail" || words[0].text == "errexit" || words[0].text == "nounset")
					words = words[min(1, len(words)):]
				}
				plain = plain && (letter == 'o' || strings.IndexByte(harmlessFlags, letter) >= 0)
			}
			plain = plain && w.text[0] == '-'
		}
		switch {
		case text && len(words) > 0 && words[0].kind == known:
			n.add(r.readText(words[0].text, c)...)
			n.transparent = plain
		case text:
			unknown(unknownText)
		case len(words) > 0 && !input:
			if !r.isFileName(&words[0]) {
				unknown("a shell runs what it reads")
				return
			}
			// A rule for the script also applies if a shell reads it.
			n.script = words[0].text
			n.add(r.readCommand(words, nil, c))
		case stdin != nil:
			n.add(r.readText(*stdin, c)...)
		default:
			unknown("a shell runs what it reads")
		}
	}
}
