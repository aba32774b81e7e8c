package rules

import "strings"

// plainFlags of a shell change nothing about what a text runs.
const plainFlags = "celuxf"

// shellOpener reads bash -lc 'text', a script's name, or a here-document.
func shellOpener(d dialect) opener {
	return func(r *reader, n *node, c context) {
		n.wrapper = true
		unknown := func(why string) {
			n.clear = false
			r.kid(n, opaqueNode("", why))
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
			if w.kind != known && file(w) {
				break
			}
			if w.kind != known {
				unknown(unknownText)
				return
			}
			if !w.option() {
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
				plain = plain && (letter == 'o' || strings.IndexByte(plainFlags, letter) >= 0)
			}
			plain = plain && w.text[0] == '-'
		}
		switch {
		case text && len(words) > 0 && words[0].kind == known:
			r.kids(n, r.text(words[0].text, c))
			n.clear = plain
		case text:
			unknown(unknownText)
		case len(words) > 0 && !input:
			if !file(&words[0]) {
				unknown("a shell runs what it reads")
				return
			}
			// A script that may not be run may not be run this way.
			n.script = words[0].text
			r.kid(n, r.command(words, nil, c))
		case stdin != nil:
			r.kids(n, r.text(*stdin, c))
		default:
			unknown("a shell runs what it reads")
		}
	}
}
