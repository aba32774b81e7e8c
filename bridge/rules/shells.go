package rules

import "strings"

// harmlessFlags are the options of a shell that do not change how it runs a text.
const harmlessFlags = "celuxf"

// shellOptions are the options of a shell, as far as they change what it runs.
type shellOptions struct {
	text  bool   // -c: the next word is the text that the shell runs
	input bool   // -s: the shell runs its input
	plain bool   // no option changes how the shell runs a text
	rest  []word // the words behind the options
}

// readShellOptions reads the options of a shell. ok is false if a word that is not known may be an
// option; isFile reports whether such a word is the name of a script.
func readShellOptions(words []word, isFile func(*word) bool) (o shellOptions, ok bool) {
	o.plain = true
	for len(words) > 0 {
		w := &words[0]
		if w.kind != known && isFile(w) {
			break
		}
		if w.kind != known {
			return o, false
		}
		if !w.mayBeOption() {
			break
		}
		words = words[1:]
		if w.text == "--" || w.text == "-" {
			break
		}
		if strings.HasPrefix(w.text, "--") {
			o.plain = o.plain && (w.text == "--login" || w.text == "--norc" || w.text == "--noprofile" || w.text == "--posix")
			if w.text == "--rcfile" || w.text == "--init-file" || w.text == "--emulate" {
				words = words[min(1, len(words)):]
			}
			continue
		}
		for _, letter := range []byte(w.text[1:]) {
			switch letter {
			case 'c':
				o.text = true
			case 's':
				o.input = true
			case 'o', 'O':
				o.plain = o.plain && len(words) > 0 && (words[0].text == "pipefail" || words[0].text == "errexit" || words[0].text == "nounset")
				words = words[min(1, len(words)):]
			}
			o.plain = o.plain && (letter == 'o' || strings.IndexByte(harmlessFlags, letter) >= 0)
		}
		o.plain = o.plain && w.text[0] == '-'
	}
	o.rest = words
	return o, true
}

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
		o, ok := readShellOptions(n.words[1:], r.isFileName)
		words := o.rest
		switch {
		case !ok:
			unknown(unknownText)
		case o.text && len(words) > 0 && words[0].kind == known:
			n.add(r.readText(words[0].text, c)...)
			n.transparent = o.plain
		case o.text:
			unknown(unknownText)
		case len(words) > 0 && !o.input:
			if !r.isFileName(&words[0]) {
				unknown(readsInput)
				return
			}
			// A rule for the script also applies if a shell reads it.
			n.script = words[0].text
			n.add(r.readCommand(words, nil, c))
		case stdin != nil:
			n.add(r.readText(*stdin, c)...)
		default:
			unknown(readsInput)
		}
	}
}
