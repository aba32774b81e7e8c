package rules

import (
	"path"
	"strings"
)

func openEval(r *reader, n *node, c context) {
	n.wrapper = true
	texts := make([]string, 0, len(n.words))
	for _, w := range n.words[1:] {
		if w.kind != known {
			r.kid(n, opaqueNode("", "eval runs a text that is not known"))
			return
		}
		texts = append(texts, w.text)
	}
	if len(texts) > 0 && texts[0] == "--" {
		texts = texts[1:]
	}
	n.clear = true
	r.kids(n, r.text(strings.Join(texts, " "), c.deeper()))
}

func openTrap(r *reader, n *node, c context) {
	words := n.words[1:]
	if len(words) > 0 && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) < 2 || words[0].kind == known && (words[0].text == "" || words[0].text[0] == '-') {
		return
	}
	n.wrapper = true
	if words[0].kind != known {
		r.kid(n, opaqueNode("", "trap runs a text that is not known"))
		return
	}
	n.clear = true
	r.kids(n, r.text(words[0].text, c.deeper()))
}

// openAlias: zsh and sh expand aliases in scripts, each in its own way, and what
// follows the alias follows its text.
func openAlias(r *reader, n *node, c context) {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		_, value, ok := strings.Cut(w.begin(), "=")
		if !ok && w.kind == known {
			continue
		}
		if w.kind != known || n.words[1].option() {
			r.line.bar("alias changes what names mean")
			r.kid(n, opaqueNode("", "an alias is a text that is not known"))
			return
		}
		r.kids(n, r.text(value+" $*", c.deeper()))
	}
}

// openSource handles source and ".": the file is not read, but it counts as a command with its name. An
// operand that is not a file has unknown effects.
func openSource(r *reader, n *node, c context) {
	n.wrapper = true
	switch {
	case len(n.words) == 1:
	case file(&n.words[1]):
		r.kid(n, r.command(n.words[1:], nil, c.deeper()))
	default:
		r.kid(n, opaqueNode("", "a shell runs what it reads"))
	}
}

// file says whether a word is the name of a file that was there before.
func file(w *word) bool {
	if w.kind == single && !w.source {
		// $dir/setup.sh is a file wherever it is; $x/stdin and $x/3 may be none.
		_, base := path.Split(w.suf)
		return base != w.suf && strings.Contains(base, ".")
	}
	if w.kind != known || w.text == "" || w.text == "-" {
		return false
	}
	clean := path.Clean(w.text)
	return !strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/proc/")
}

// openSetter notes the variables that a builtin sets, and that it may evaluate
// what it is given as a subscript.
func openSetter(r *reader, n *node, c context) {
	key := n.words[0].key()
	letters, flag := "inC", "" // the option that takes the name of a variable
	switch key {
	case "printf", "print", "test", "[":
		// zsh and ksh evaluate what they take for a number.
		for i := 1; i < len(n.words); i++ {
			if w := &n.words[i]; numbers[w.text] || key == "printf" && i == 1 && strings.ContainsAny(w.begin(), "di") {
				r.line.bar(arithmetic)
			}
		}
		flag = "-v"
		if !names(n, flag, key[0] == 'p') {
			return
		}
	case "wait":
		flag = "-p"
		if !names(n, flag, true) {
			return
		}
	case "read", "getopts":
		letters = ""
	case "mapfile", "readarray":
		openCallback(r, n, c)
	}
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		name, _, assigned := strings.Cut(w.begin(), "=")
		name = strings.TrimSuffix(name, "+")
		switch {
		case w.kind == known && w.text != "" && (w.text[0] == '-' || w.text[0] == '+'):
			// The name may follow the letter: printf -v'a[x]'.
			if strings.ContainsAny(w.text, letters) || strings.Contains(w.text, "[") {
				r.line.bar(arithmetic)
			}
			if name := strings.TrimPrefix(w.text, flag); variable(name) {
				r.line.set(name)
			}
		case w.kind != known && !assigned, strings.Contains(name, "["):
			r.line.bar(arithmetic)
		case key == "export":
			if !harmless[name] {
				r.line.bar("it sets " + name + ", which may change what later commands do")
			}
		case variable(name):
			r.line.set(name)
		}
	}
}

// openCallback: mapfile -C runs its value, with words behind it.
func openCallback(r *reader, n *node, c context) {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		text, joined := strings.CutPrefix(w.begin(), "-C")
		if !joined {
			continue
		}
		n.wrapper = true
		if text == "" && i+1 < len(n.words) {
			w, text = &n.words[i+1], n.words[i+1].text
		}
		if w.kind != known {
			r.kid(n, opaqueNode("", "mapfile runs a text that is not known"))
			return
		}
		r.kids(n, r.text(text+" $*", c.deeper()))
	}
}

// names says whether a builtin is given the option after which it takes the
// name of a variable. For some a first word that is not known may be one.
func names(n *node, flag string, first bool) bool {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		if w.kind == known && strings.HasPrefix(w.text, flag) || first && i == 1 && w.kind != known && w.option() {
			return true
		}
	}
	return false
}
