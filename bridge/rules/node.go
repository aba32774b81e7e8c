package rules

import (
	"cmp"
	"strings"
)

// node is a simple command with the commands that it runs.
type node struct {
	text        string
	assignments []assignment
	words       []word
	allKnown    bool   // every word is known
	secondWord  string // the word behind the name; "" if it is unknown or may be an option
	children    []*node

	// opaque is the reason why the command is unknown; "" if it is known. No allow rule matches an
	// opaque command, and every deny and ask rule for commands might.
	opaque string
	// unsafeAssignment is the reason why an allow rule must also spell the assignments; "" if none.
	unsafeAssignment string
	// script is the file that a shell reads; "" if none.
	script string
	// wrapper: the command runs others, so an allow rule must name it. transparent: the command is
	// allowed if all commands that it runs are. needsBoth: an allow rule must match the command as
	// well as the commands that it runs.
	wrapper, transparent, needsBoth bool
	// guessed: the command is one only if a program with an unknown name runs its words.
	guessed bool

	knownMemo *node // the result of knownNode
}

// assignment is NAME=value before a command.
type assignment struct {
	name string
	word word // includes the name
}

// newNode returns the node of a command without reading the commands that it runs.
func newNode(words []word, assigns []assignment) *node {
	n := &node{words: words, assignments: assigns, allKnown: true}
	for i := range words {
		n.allKnown = n.allKnown && words[i].kind == known
	}
	if len(words) > 1 && words[0].kind <= single && words[1].kind == known && !words[1].mayBeOption() {
		n.secondWord = words[1].text
	}
	for _, a := range assigns {
		if !harmlessVariables[a.name] {
			n.unsafeAssignment = a.name + " is set for it"
		}
	}
	return n
}

// add adds commands that n runs.
func (n *node) add(children ...*node) { n.children = append(n.children, children...) }

// addOpaque adds an unknown command to n; why is the reason.
func (r *reader) addOpaque(n *node, why string) { n.add(r.line.opaqueNode("", why)) }

// opaqueNode returns an unknown command of the line; why is the reason.
func (l *line) opaqueNode(text, why string) *node {
	n := &node{text: text}
	l.markOpaque(n, why)
	return n
}

// markOpaque makes n an unknown command; why is the reason. An unknown command may change any file.
// So no other function sets n.opaque, with one exception in finish.
func (l *line) markOpaque(n *node, why string) {
	n.opaque = why
	if !l.incomplete {
		l.incomplete = true
		l.addAccess(fileAccess{text: "a line that can't be read", target: word{kind: unknownWords}, why: why})
	}
}

// hasWord reports whether one of n's known words is text.
func (n *node) hasWord(text string) bool {
	for i := range n.words { // words are too large to copy for each rule
		if n.words[i].text == text {
			return true
		}
	}
	return false
}

// line is the content of one command line.
type line struct {
	nodes          []*node
	accesses       []fileAccess
	operands       []word   // files that programs change; see fileChangers
	folders        []string // folders that the line changes to, as it spells them
	outsideGrammar string   // why the line, or a text for a shell in it, is outside the grammar; "" if inside
	noAllow        string   // why no allow rule applies, even if the line is in the grammar; "" if some may
	evaluates      string   // why a shell may evaluate what a variable or an argument holds; "" if it does not
	changesFolder  bool     // the line changes its folder, so ./x may be any program
	incomplete     bool     // an unknown command may change files that accesses and operands miss
	tooLong        bool     // a bound of the reader was exceeded, so the line may change any file
	starts         string   // a variable that the line sets and that makes a shell run something; "" if none
	hasPatch       bool     // the text has the start of a patch
	changesAny     bool     // a patch in the line may change any file
	hasCommandText bool     // the line has a command as text, which an evaluation would run
	// opensDescriptor: the line may open a file to read it by another descriptor than 0.
	opensDescriptor bool

	programStarts bool // Dirs.ProgramStarts

	nodeCount int            // nodes including children
	cwd, home string         // the folder in which the line starts, and ~; "" if unknown
	scripts   *scriptFolders // the result of the method scriptFolders; nil before

	// relFolder is the folder of the line relative to the workspace; "" if it is unknown or
	// outside.
	relFolder string
}

// fileAccess is a redirection to or from a file, or a file that a patch changes.
type fileAccess struct {
	text   string
	target word
	read   bool
	why    string // why the command that accesses the file is unknown; "" if it is known
}

// addAccess records an access. After maxAccesses, one access to any file stands for all others.
func (l *line) addAccess(w fileAccess) {
	switch n := len(l.accesses); {
	case n == maxAccesses:
		w.target, w.read, l.tooLong = word{kind: unknownWords}, false, true
	case n > maxAccesses:
		return
	}
	l.accesses = append(l.accesses, w)
}

// forbidAllow records why no allow rule applies to the line. The first reason counts.
func (l *line) forbidAllow(why string) {
	if l.noAllow == "" {
		l.noAllow = why
	}
}

// noteEvaluation records why a shell may evaluate what a variable or an argument holds. The first
// reason counts. No allow rule applies to the line.
func (l *line) noteEvaluation(why string) {
	l.evaluates = cmp.Or(l.evaluates, why)
	l.forbidAllow(why)
}

// finish adds the unknown commands that only the whole line shows. text is the whole line.
func (l *line) finish(text string) {
	const hasText = ", and the line has a command as text"
	switch {
	case !l.hasCommandText:
	case l.evaluates != "":
		l.nodes = append(l.nodes, l.opaqueNode(text, l.evaluates+hasText))
	case l.noAllow != "":
		// For commands, every line to which no allow rule applies counts as one that evaluates its
		// text. For files it does not: export X=1; git commit -m 'fix `x`' is an ordinary line.
		l.nodes = append(l.nodes, &node{text: text, opaque: l.noAllow + hasText})
	}
	if l.starts != "" {
		l.nodes = append(l.nodes, l.opaqueNode(text, startReason(l.starts)))
	}
	if len(l.nodes) == 0 {
		l.nodes = []*node{{text: text, allKnown: true}}
	}
}

// noteCommandText records whether text has a command that would run if the text were evaluated:
// "$(" or one of chars.
func (l *line) noteCommandText(text string, chars string) {
	l.hasCommandText = l.hasCommandText || strings.Contains(text, "$(") || strings.ContainsAny(text, chars)
}

// noteWord records whether a word has a command that would run if the word were evaluated. The
// unknown parts of a word may complete $(.
func (l *line) noteWord(w *word) {
	if w.kind == known {
		l.noteCommandText(w.text, "`")
		return
	}
	text := cmp.Or(w.template, w.prefix+"\x00"+w.suffix)
	l.noteCommandText(text, "`$")
	l.hasCommandText = l.hasCommandText || strings.Contains(text, "\x00(")
}

// noteVariable records a variable that is set for the rest of the line. If it was exported, later
// commands get the new value.
func (l *line) noteVariable(name string) {
	if startsSomething(name) && l.starts == "" {
		l.starts = name
	}
	if !isScriptVariable(name) {
		l.forbidAllow("it sets " + name + ", which may change what later commands do")
	}
}
