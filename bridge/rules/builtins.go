package rules

import (
	"path"
	"strings"
)

// handleEval reads the text that eval runs.
func handleEval(r *reader, n *node, c readContext) {
	n.wrapper = true
	texts := make([]string, 0, len(n.words))
	for _, w := range n.words[1:] {
		if w.kind != known {
			r.addOpaque(n, "eval runs a text that is not known")
			return
		}
		texts = append(texts, w.text)
	}
	if len(texts) > 0 && texts[0] == "--" {
		texts = texts[1:]
	}
	n.transparent = true
	n.add(r.readText(strings.Join(texts, " "), c.deeper())...)
}

// handleTrap reads the text that trap runs on a signal.
func handleTrap(r *reader, n *node, c readContext) {
	words := n.words[1:]
	if len(words) > 0 && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) < 2 || words[0].kind == known && (words[0].text == "" || words[0].text[0] == '-') {
		return
	}
	n.wrapper = true
	if words[0].kind != known {
		r.addOpaque(n, "trap runs a text that is not known")
		return
	}
	n.transparent = true
	n.add(r.readText(words[0].text, c.deeper())...)
}

// handleAlias reads the text of each alias. Shells expand aliases in scripts in different ways; the
// words after the alias follow its text.
func handleAlias(r *reader, n *node, c readContext) {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		_, value, ok := strings.Cut(w.knownPrefix(), "=")
		if !ok && w.kind == known {
			continue
		}
		if w.kind != known || n.words[1].mayBeOption() {
			r.line.forbidAllow("alias changes what names mean")
			r.addOpaque(n, "an alias is a text that is not known")
			return
		}
		n.add(r.readText(value+" $*", c.deeper())...)
	}
}

// handleSource handles source and ".": the file is not read, but it counts as a command with its
// name. An operand that is not a file has unknown effects.
func handleSource(r *reader, n *node, c readContext) {
	n.wrapper = true
	switch {
	case len(n.words) == 1:
	case r.isFileName(&n.words[1]):
		n.add(r.readCommand(n.words[1:], nil, c.deeper()))
	default:
		r.addOpaque(n, readsInput)
	}
}

// processNames are further files of a process in /proc that have a text of its choice, such as its
// name.
var processNames = setOf("status", "stat", "sched", "maps", "smaps", "numa_maps", "mountinfo", "mounts", "mountstats")

// isFileName reports whether a word names a file that existed before, and not a descriptor or other
// input.
func (r *reader) isFileName(w *word) bool {
	switch {
	case w.kind == single && !w.processSubst:
		// $dir/setup.sh is a file in any folder.
		_, base := path.Split(w.suffix)
		return base != w.suffix && !isInputName(base) && !processNames[FoldCase(base)]
	case w.kind != known || w.text == "-" || isInputName(path.Base(w.text)):
		return false
	case path.IsAbs(w.text):
		return !isInDevices(w.text)
	}
	folders := r.line.scriptFolders()
	rest, above := path.Clean(w.text), 0
	for strings.HasPrefix(rest, "../") {
		rest, above = rest[len("../"):], above+1
	}
	// A name may leave /dev by "..", but it counts as an input all the same.
	return !folders.inDevices && !(folders.unknown && processNames[FoldCase(path.Base(rest))]) && !(above >= folders.depth && isInDevices("/"+rest))
}

// scriptFolders are the folders in which a line may look for a script.
type scriptFolders struct {
	changes   int  // the changes of folder that have been read
	depth     int  // the least number of names of one of them
	unknown   bool // one of them is unknown
	inDevices bool // one of them is below /dev or /proc
}

// scriptFolders returns the folders in which the line may be so far.
func (l *line) scriptFolders() *scriptFolders {
	if l.scripts != nil && l.scripts.changes == len(l.folders) {
		return l.scripts
	}
	l.scripts = &scriptFolders{changes: len(l.folders), depth: maxLineLen}
	folders, _ := l.possibleFolders(false, nil)
	for _, folder := range folders {
		if folder == "" {
			l.scripts.unknown = true
			continue
		}
		at := path.Clean("/" + folder)
		l.scripts.depth = min(l.scripts.depth, strings.Count(strings.TrimSuffix(at, "/"), "/"))
		l.scripts.unknown = l.scripts.unknown || strings.Contains(at, "*")
		l.scripts.inDevices = l.scripts.inDevices || isInDevices(at+"/x")
	}
	return l.scripts
}

// handleSetter notes the variables that a builtin sets. The builtin may also evaluate subscripts in
// its arguments.
func handleSetter(r *reader, n *node, c readContext) {
	key := n.words[0].key()
	letters, flag := "inC", "" // flag is the option that takes the name of a variable
	switch key {
	case "let":
		r.line.noteEvaluation(arithmetic)
		return
	case "printf", "print", "test", "[":
		// zsh and ksh evaluate arguments that are compared as numbers.
		for i := 1; i < len(n.words); i++ {
			if w := &n.words[i]; numericTests[w.text] || key == "printf" && i == 1 && strings.ContainsAny(w.knownPrefix(), "di") {
				r.line.noteEvaluation(arithmetic)
			}
		}
		flag = "-v"
		if key == "print" && hasLetter(n, 'P') {
			r.line.noteEvaluation("print -P expands its text again")
		}
		if !hasVariableOption(n, flag, key[0] == 'p') {
			return
		}
	case "wait":
		flag = "-p"
		if !hasVariableOption(n, flag, true) {
			return
		}
	case "read", "getopts":
		letters = ""
	case "mapfile", "readarray":
		if hasLetter(n, 'C') { // a text that it runs
			handleUnread(r, n, c)
		}
	}
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		name, _, assigned := strings.Cut(w.knownPrefix(), "=")
		name = strings.TrimSuffix(name, "+")
		if assigned {
			r.readCommandVariable(n, assignment{name, *w}, c)
		}
		if variable, _, _ := strings.Cut(name, "["); key != "unset" && startsSomething(variable) && r.line.starts == "" {
			r.line.starts = variable
		}
		switch {
		case w.kind == known && w.text != "" && (w.text[0] == '-' || w.text[0] == '+'):
			// The name may follow the letter: printf -v'a[x]'.
			if strings.ContainsAny(w.text, letters) || strings.Contains(w.text, "[") {
				r.line.noteEvaluation(arithmetic)
			}
			if name := strings.TrimPrefix(w.text, flag); isVariableName(name) {
				r.line.noteVariable(name)
			}
		case w.kind != known && !assigned, strings.Contains(name, "["):
			r.line.noteEvaluation(arithmetic)
		case key == "export":
			if !harmlessVariables[name] {
				r.line.forbidAllow("it sets " + name + ", which may change what later commands do")
			}
		case key == "unset" && !isScriptVariable(name):
			r.line.forbidAllow("it removes " + name + ", which may change what later commands do")
		case isVariableName(name):
			r.line.noteVariable(name)
		}
	}
}

// hasLetter reports whether a builtin may have an option with a letter.
func hasLetter(n *node, letter byte) bool {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		if w.mayBeOption() && (w.kind != known || strings.IndexByte(w.text, letter) >= 0) {
			return true
		}
	}
	return false
}

// hasVariableOption reports whether a builtin has the option flag, which takes the name of a
// variable. With first, an unknown first word may be that option.
func hasVariableOption(n *node, flag string, first bool) bool {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		if w.kind == known && strings.HasPrefix(w.text, flag) || first && i == 1 && w.kind != known && w.mayBeOption() {
			return true
		}
	}
	return false
}
