package rules

import "strings"

// node is a simple command, with what it runs in turn.
type node struct {
	text    string
	assigns []assign
	words   []word
	literal bool   // all words are known
	second  string // the word behind the name, if it is surely that and no option
	kids    []*node

	// opaque says why it isn't known what runs. No allow rule matches, and every
	// deny and ask rule for commands could.
	opaque string
	// unsafe says why an allow rule must spell the assignments, too.
	unsafe string
	// script is the file that a shell reads, "" none.
	script string
	// wrapper: it runs others, so an allow rule must name it; clear: it is allowed
	// when all that it runs is; both: it must be allowed beside what it runs.
	wrapper, clear, both bool
}

// assign is NAME=value before a command.
type assign struct {
	name string
	word word // with the name
}

func newNode(words []word, assigns []assign) *node {
	n := &node{words: words, assigns: assigns, literal: true}
	for i := range words {
		n.literal = n.literal && words[i].kind == known
		if words[i].foreign != "" {
			n.opaque = words[i].foreign
		}
	}
	if len(words) > 1 && words[0].kind <= single && words[1].kind == known && !words[1].option() {
		n.second = words[1].text
	}
	for _, a := range assigns {
		if !harmless[a.name] {
			n.unsafe = a.name + " is set for it"
		}
	}
	return n
}

func opaqueNode(text, why string) *node { return &node{text: text, opaque: why} }

func (n *node) has(text string) bool {
	for i := range n.words { // words are too big to be copied for each rule
		if n.words[i].text == text {
			return true
		}
	}
	return false
}

// line is all that was seen in one command line.
type line struct {
	nodes    []*node
	writes   []write
	operands []word   // files that programs change; see changers
	folders  []string // that the line changes to, as it spells them
	outside  string   // why the line, or a text that it has a shell read, is outside of the grammar
	barrier  string   // why nothing in this line can be allowed, though it may be in the grammar
	moved    bool     // it changes the folder, so ./x is anything
	partial  bool     // files that it changes may be missing in writes and operands
	tooLong  bool     // a bound of the reader was reached, so that it may change any file
	hidden   bool     // it holds a command as text, for what evaluates values
	size     int      // nodes made, kids included

	// folder is where the line runs, relative to the workspace; "" somewhere else, or
	// not known.
	folder string
}

// write is a redirection into a file or from one, or a file that a patch changes.
type write struct {
	text   string
	target word
	read   bool
}

// unreadWrite stands for what a line that can't be read writes: any file.
var unreadWrite = write{text: "a line that can't be read", target: word{kind: many}}

func (l *line) write(w write) {
	switch n := len(l.writes); {
	case n == maxWrite:
		w.target, l.tooLong = word{kind: many}, true
	case n > maxWrite:
		return
	}
	l.writes = append(l.writes, w)
}

func (l *line) bar(why string) {
	if l.barrier == "" {
		l.barrier = why
	}
}

// holds notes text that would run if it were evaluated.
func (l *line) holds(text string, chars string) {
	l.hidden = l.hidden || strings.Contains(text, "$(") || strings.ContainsAny(text, chars)
}

// set notes a variable that is set for the rest of the line. An exported one
// stays exported, so every later command may see it.
func (l *line) set(name string) {
	if !own(name) {
		l.bar("it sets " + name + ", which may change what later commands do")
	}
}
