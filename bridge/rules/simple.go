package rules

// Command is a simple command of a line, for who has rules of another kind than a Set.
type Command struct {
	Words []Word
	// Opaque: it can't be told what runs, so that it may be anything.
	Opaque bool
}

// Word is a word after quote removal.
type Word struct {
	Text  string
	Known bool // else Text is empty, and it may be any word
	Many  bool // not known, and any number of words
}

// Commands are the simple commands of a line as a bash reads it, in their order. What they
// run in turn is not among them.
func Commands(text string) []Command {
	r := reader{line: new(line)}
	var all []Command
	for _, n := range r.text(text, context{shell: shells["bash"]}) {
		c := Command{Opaque: n.opaque != "" && len(n.words) == 0}
		for i := range n.words {
			w := &n.words[i]
			c.Words = append(c.Words, Word{Text: w.text, Known: w.kind == known, Many: w.kind > single})
		}
		all = append(all, c)
	}
	return all
}
