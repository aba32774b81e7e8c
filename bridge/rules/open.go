package rules

import (
	"path"
	"strings"
)

// open finds what a command runs in turn.
func (r *reader) open(n *node, c context) {
	name := &n.words[0]
	if name.kind != known {
		r.unknownName(n, c)
		return
	}
	if strings.HasPrefix(name.text, "-") && name.text != "-" {
		r.loose(n, c, false) // behind time --
		return
	}
	if isLoader(name.key()) {
		r.loose(n, c, false)
		return
	}
	if open, ok := openers[name.key()]; ok {
		open(r, n, c)
		// The real ones are found by their plain name, or where systems keep them.
		if dir, base := path.Split(name.text); base != name.key() || dir != "" && !systemDirs[dir] {
			n.clear = false
		}
	}
}

// isLoader reports whether a program is the dynamic loader, which runs the program that it
// is given: ld-linux-x86-64.so.2, ld-musl-aarch64.so.1, ld.so.
func isLoader(name string) bool {
	return strings.HasPrefix(name, "ld") && (strings.Contains(name, ".so.") || strings.HasSuffix(name, ".so"))
}

var systemDirs = setOf("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/")

type opener func(r *reader, n *node, c context)

var openers map[string]opener

func init() {
	openers = map[string]opener{
		"env": openEnv, "xargs": openXargs, "find": openFind, "eval": openEval, "trap": openTrap, "alias": openAlias,
		"source": openSource, ".": openSource, "git": openGit, "command": openCommand, "cd": openMove, "pushd": openMove, "popd": openMove, "chdir": openMove,
		"su": openSu, "script": openSu, "sudo": openSudo, "parallel": openParallel, "hash": openHash, "enable": openHash, "fd": openFd, "fdfind": openFd,
	}
	for name, d := range shells {
		openers[name] = shellOpener(d)
	}
	for name, o := range plainWrappers {
		openers[name] = o.open
	}
	for _, name := range looseWrappers {
		openers[name] = func(r *reader, n *node, c context) { r.loose(n, c, false) }
	}
	for _, name := range textWrappers {
		openers[name] = func(r *reader, n *node, c context) { r.loose(n, c, true) }
	}
	for _, name := range foreignShells {
		openers[name] = openForeign
	}
	for _, name := range evaluators {
		openers[name] = openEvaluator
	}
	for _, name := range setters {
		openers[name] = openSetter
	}
}

// unknownName: it may be anything, a shell or a wrapper too.
func (r *reader) unknownName(n *node, c context) {
	text := false
	for i := 1; i < len(n.words); i++ {
		begin := n.words[i].begin()
		text = text || len(begin) > 1 && begin[0] == '-' && begin[1] != '-' && strings.ContainsAny(begin, "cS")
	}
	r.loose(n, c, text)
	n.clear, n.wrapper = false, true
}

// loose takes every rest of a command's words for a command: whatever its
// options are, what it runs is among them. With texts each word of several words
// is shell, too. That is good for deny and ask rules only.
func (r *reader) loose(n *node, c context, texts bool) {
	n.wrapper = true
	if len(n.words) > maxLoose {
		r.skip(n, "there are too many words")
		return
	}
	r.enterOptions(n.words[1:])
	c = c.deeper()
	rest := c
	rest.inner = true
	for i := 1; i < len(n.words); i++ {
		if !c.inner { // else the rests of the outer one are the rests of this one
			r.kid(n, r.prefixed(n.words[i:], rest))
		}
		switch w := &n.words[i]; {
		case !texts:
		case w.kind != known:
			r.kid(n, opaqueNode("", unknownText))
		case strings.ContainsAny(w.text, " \t\n;|&$`()<>"):
			r.kids(n, r.text(glued(w.text), c))
		}
	}
}

// glued is the text that an option brings with it: -c'git push'.
func glued(text string) string {
	if strings.HasPrefix(text, "--") {
		if _, after, ok := strings.Cut(text, "="); ok {
			return after
		}
	} else if len(text) > 2 && text[0] == '-' {
		return text[2:]
	}
	return text
}

const unknownText = "a shell runs a text that is not known"

func (r *reader) kid(n, kid *node) { n.kids = append(n.kids, kid) }

func (r *reader) kids(n *node, kids []*node) { n.kids = append(n.kids, kids...) }

// run is the plain case: what follows is the command, and all that runs.
func (r *reader) run(n *node, words []word, c context) {
	n.wrapper = true
	if len(words) == 0 {
		return
	}
	n.clear = true
	r.kid(n, r.command(words, nil, c.deeper()))
}

func openEnv(r *reader, n *node, c context) {
	if len(n.words) == 1 {
		return
	}
	if first := &n.words[1]; first.kind == many || first.kind == each || first.option() {
		r.loose(n, c, false)
		for i := 1; i < len(n.words); i++ {
			begin := n.words[i].begin()
			if n.words[i].option() && (strings.HasPrefix(begin, "--s") || !strings.HasPrefix(begin, "--") && strings.Contains(begin, "S")) {
				r.kid(n, opaqueNode("", "env splits a text into a command by rules of its own"))
				r.line.partial = true
				return
			}
		}
		return
	}
	kid := r.prefixed(n.words[1:], c.deeper())
	n.wrapper, n.clear = true, true
	r.kid(n, kid)
}

// openCommand: command -v only tells where something is.
func openCommand(r *reader, n *node, c context) {
	if len(n.words) > 1 && n.words[1].option() {
		if flag := n.words[1].text; flag == "-v" || flag == "-V" {
			return
		}
		r.loose(n, c, false)
		return
	}
	r.run(n, n.words[1:], c)
}

func openMove(r *reader, _ *node, _ context) { r.line.moved = true }

// openHash: enable with names switches builtins, hash with names looks them up. With an
// option, or with =, both give a name another program.
func openHash(r *reader, n *node, _ context) {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		if w.kind != known || w.option() && w.text != "-n" && w.text != "-r" || strings.Contains(w.text, "=") {
			r.kid(n, opaqueNode("", n.words[0].text+" changes what names mean"))
			return
		}
	}
}

// openEvaluator is for builtins that run or evaluate what they are given, in ways that
// are not followed here.
func openEvaluator(r *reader, n *node, _ context) {
	if len(n.words) > 1 || n.words[0].key() == "fc" {
		n.wrapper = true
		r.kid(n, opaqueNode("", n.words[0].text+" may run what it is given"))
		r.line.partial = true
	}
}

// openSu: without -c it is a shell that reads its input.
func openSu(r *reader, n *node, c context) {
	r.loose(n, c, true)
	for i := range n.words {
		if begin := n.words[i].begin(); strings.HasPrefix(begin, "-c") || strings.HasPrefix(begin, "--c") {
			return
		}
	}
	r.kid(n, opaqueNode("", "a shell runs what it reads"))
}

// openSudo: with -s and -i it is a shell, too.
func openSudo(r *reader, n *node, c context) {
	r.loose(n, c, true)
	for i := 1; i < len(n.words); i++ {
		begin := n.words[i].begin()
		if strings.HasPrefix(begin, "--s") || strings.HasPrefix(begin, "--l") ||
			len(begin) > 1 && begin[0] == '-' && begin[1] != '-' && strings.ContainsAny(begin, "si") {
			r.kid(n, opaqueNode("", "a shell runs what it reads"))
			return
		}
	}
}

// openParallel: it puts words together from its input, and may take whole
// commands from there.
func openParallel(r *reader, n *node, c context) {
	r.loose(n, c, true)
	r.kid(n, opaqueNode("", "parallel runs what it reads"))
}

func openForeign(r *reader, n *node, _ context) {
	n.wrapper = true
	r.kid(n, opaqueNode("", "the language of this shell is not known here"))
	r.line.partial = true
}

const alias = "alias."

// openGit: an alias that is given on the spot may be any command.
func openGit(r *reader, n *node, _ context) {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		key, given := strings.CutPrefix(w.begin(), "--config-env=")
		if !given {
			key, given = strings.CutPrefix(w.begin(), "-c")
		}
		if before := n.words[i-1].text; before == "-c" || before == "--config-env" {
			key, given = w.begin(), true
		}
		key = strings.ToLower(key)
		common := min(len(key), len(alias))
		if given && key[:common] == alias[:common] && (common == len(alias) || w.kind != known) {
			r.kid(n, opaqueNode("", "a git alias may be any command"))
			r.line.partial = true
			n.both = true
			return
		}
	}
}

func openFind(r *reader, n *node, c context) {
	var kids []*node
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		if w.kind != known {
			if w.option() && w.kind != single {
				n.both = true
				r.line.bar("find may be told to run something")
			}
			continue
		}
		switch w.text {
		case "-exec", "-ok":
		case "-execdir", "-okdir":
			r.line.moved = true // it runs in the folder of each file
			r.line.enter("*")
		default:
			continue
		}
		several := strings.HasPrefix(w.text, "-exec") // for -ok, + is a word
		var words []word
		for i++; i < len(n.words) && n.words[i].text != ";"; i++ {
			w := n.words[i]
			if several && w.text == "+" && n.words[i-1].text == "{}" {
				break
			}
			if before, after, ok := strings.Cut(w.text, "{}"); ok && w.kind == known {
				w = word{kind: single, pre: before, suf: after[strings.LastIndex(after, "}")+1:], spelled: strings.ReplaceAll(w.text, "{}", "\x00")}
			}
			words = append(words, w)
		}
		c := c.deeper()
		c.inner = false // the rest of the line is no part of it
		kids = append(kids, r.command(words, nil, c))
	}
	if len(kids) > 0 {
		n.wrapper, n.both, n.kids = true, true, kids
	}
}

func openFd(r *reader, n *node, c context) {
	for i := 1; i < len(n.words); i++ {
		begin := n.words[i].begin()
		if len(begin) > 1 && begin[0] == '-' && begin[1] != '-' && strings.ContainsAny(begin, "xX") || strings.HasPrefix(begin, "--exec") {
			r.loose(n, c, false)
			n.both = true
			return
		}
	}
}

// openXargs: words that nobody knows yet are put behind the command's, or in the
// place of a mark.
func openXargs(r *reader, n *node, c context) {
	rest, values, ok := options(n.words[1:], "0rtpxo", "nLPsadEIJRS", xargsLong)
	_, replaces := values["I"]
	if _, other := values["J"]; !ok || replaces && (other || values["I"] == "") {
		r.loose(n, c, false)
		r.kid(n, opaqueNode("", "xargs may put anything into what it runs"))
		return
	}
	if len(rest) == 0 {
		return
	}
	words := rest[:len(rest):len(rest)]
	mark := values["I"] + values["J"]
	switch {
	case values["I"] != "" || values["J"] != "":
		words = make([]word, len(rest))
		for i, w := range rest {
			if before, after, ok := strings.Cut(w.text, mark); ok && w.kind == known {
				spelled := strings.ReplaceAll(w.text, mark, "\x00")
				w = word{kind: single, pre: before, suf: after[strings.LastIndex(after, mark)+1:], spelled: spelled}
				if strings.Contains(after, mark) || values["J"] != "" {
					w = word{kind: many, spelled: spelled}
				}
			}
			words[i] = w
		}
	default:
		words = append(words, word{kind: many})
	}
	r.run(n, words, c)
}
