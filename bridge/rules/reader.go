package rules

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxLineLen     = 64 << 10       // bytes of a command line
	maxDepth       = 8              // nested wrappers
	maxNodes       = 2000           // simple commands of a line
	maxWords       = 4096           // words of one command
	maxSuffixWords = 128            // words of a command whose suffixes are read
	maxBytesRead   = 4 * maxLineLen // including texts that are read again
	maxAccesses    = 256            // redirections, and folders that a line changes to

	maxOperands = 4096 // files that programs change
)

// reader collects the commands that a line runs. It is not safe for concurrent use.
type reader struct {
	line      *line
	bytesRead int // a text may be read again for each wrapper
}

// readContext is the context in which a command is read.
type readContext struct {
	shell    dialect
	depth    int
	stdin    *string // the text of a here-document; nil if the input is unknown
	isSuffix bool    // the command is a suffix of another one, which adds all suffixes
}

// deeper returns the context of a command that another command runs.
func (c readContext) deeper() readContext {
	c.depth++
	c.stdin = nil
	return c
}

// dialect is the way in which a shell reads a text.
type dialect struct {
	// langs are the parsers that apply beside the one for bash. They differ in the commands that
	// they find.
	langs []syntax.LangVariant
	// lenient: the right parser is unknown, so one that fails is ignored.
	lenient bool
	// readsGrammar: the shell reads the lines of the grammar as parsePlain does.
	readsGrammar bool
}

// shellDialects are the dialects by the names of the shells.
var shellDialects = map[string]dialect{
	"bash":  {readsGrammar: true},
	"sh":    {langs: []syntax.LangVariant{syntax.LangPOSIX}, readsGrammar: true},
	"dash":  {langs: []syntax.LangVariant{syntax.LangPOSIX}, readsGrammar: true},
	"zsh":   {langs: []syntax.LangVariant{syntax.LangZsh}, readsGrammar: true},
	"rbash": {}, "rzsh": {langs: []syntax.LangVariant{syntax.LangZsh}}, "ash": {langs: []syntax.LangVariant{syntax.LangPOSIX}},
	"ksh": {langs: []syntax.LangVariant{syntax.LangMirBSDKorn}}, "mksh": {langs: []syntax.LangVariant{syntax.LangMirBSDKorn}},
	"oksh": {langs: []syntax.LangVariant{syntax.LangMirBSDKorn}},
}

// dialectOf returns the dialect of a shell. For an unknown shell all dialects apply.
func dialectOf(shell string) dialect {
	if d, ok := shellDialects[shell]; ok {
		return d
	}
	return dialect{langs: []syntax.LangVariant{syntax.LangPOSIX, syntax.LangZsh}, lenient: true}
}

// readText reads shell text as the shells of the dialect do. A line of the grammar has one reading.
// For another text, no allow rule applies to the whole line.
func (r *reader) readText(text string, c readContext) []*node {
	problem := unreadableReason(text)
	r.bytesRead += len(text)
	r.line.tooLong = r.line.tooLong || len(text) > maxLineLen || c.depth > maxDepth || r.bytesRead > maxBytesRead || r.line.nodeCount > maxNodes
	switch {
	case problem != "":
	case c.depth > maxDepth:
		problem = "commands are nested too deeply"
	case r.bytesRead > maxBytesRead, r.line.nodeCount > maxNodes:
		problem = "there are too many commands"
	}
	if problem != "" {
		return []*node{r.line.opaqueNode(text, problem)}
	}
	c.isSuffix = false
	commands, why := parsePlain(text)
	if why == "" && c.shell.readsGrammar {
		return r.readPlain(commands, c)
	}
	if why == "" {
		why = "it is not known which shell reads it"
	}
	if r.line.outsideGrammar == "" {
		r.line.outsideGrammar = why
	}
	var nodes []*node
	if slices.Contains(c.shell.langs, syntax.LangZsh) {
		// Measured: zsh drops a backslash at the end, and a $ before ~, ^ or =.
		if strings.HasSuffix(text, "\\") || strings.Contains(text, "$~") || strings.Contains(text, "$^") || strings.Contains(text, "$=") {
			nodes = append(nodes, r.line.opaqueNode(text, "zsh may leave characters out of a word"))
		}
	}
	start := len(r.line.folders)
	var folders []string // of the first reading
	for i := range 1 + len(c.shell.langs) {
		again := len(r.line.folders)
		lang := syntax.LangBash
		if i > 0 {
			lang = c.shell.langs[i-1]
		}
		file, err := parse(text, lang)
		if err != nil {
			if i == 0 || !c.shell.lenient {
				nodes = append(nodes, r.line.opaqueNode(text, "it can't be parsed as shell"))
			}
			continue
		}
		if problem := shellDifference(file, text, len(c.shell.langs) > 0); problem != "" {
			nodes = append(nodes, r.line.opaqueNode(text, problem))
		}
		w := walker{reader: r, source: text, readContext: c, lang: lang}
		syntax.Walk(file, w.visit)
		nodes = append(nodes, w.nodes...)
		if i == 0 {
			folders = slices.Clone(r.line.folders[start:])
		} else if slices.Equal(folders, r.line.folders[again:]) {
			r.line.folders, r.line.scripts = r.line.folders[:again], nil // the same changes of folder
		}
	}
	return nodes
}

// readPlain returns the nodes of a line in the grammar.
func (r *reader) readPlain(commands []plainCommand, c readContext) []*node {
	nodes := make([]*node, 0, len(commands))
	for _, command := range commands {
		if r.line.nodeCount > maxNodes {
			return nodes // the first command over the limit is opaque
		}
		n := r.readCommand(literals(command.words), nil, c)
		n.text = command.text
		nodes = append(nodes, n)
		for _, redirect := range command.redirects {
			if redirect.target != "" && redirect.target != devNull {
				r.line.addAccess(fileAccess{text: redirect.text, target: literal(redirect.target), read: redirect.operator == "<"})
			}
		}
	}
	return nodes
}

// UnknownLine stands for a command line that is not known. Every deny or ask rule for commands matches it.
const UnknownLine = "\x00"

// unreadableReason returns why no parser can read a text as every shell does; "" if one can.
func unreadableReason(text string) string {
	switch {
	case text == UnknownLine:
		return "the command is not known"
	case len(text) > maxLineLen:
		return "it is longer than 64 KiB"
	case !utf8.ValidString(text):
		return "it is not valid UTF-8"
	case strings.ContainsAny(text, "\x00\x01\r"):
		return "it holds control characters"
	case hasSplitOperator(text):
		return "a line is continued in the middle of an operator"
	}
	return ""
}

// hasSplitOperator reports whether a line is continued behind the first character of a possible
// operator. Measured: bash removes the break before it reads $( or <(, also in double quotes; the
// parser sees two separate characters.
func hasSplitOperator(text string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], "\\\n")
		if i < 0 {
			return false
		}
		at += i
		if at > 0 && at+2 < len(text) && strings.IndexByte("$<>&|;(){}!#*?[~`'\"", text[at-1]) >= 0 &&
			strings.IndexByte(" \t\n", text[at+2]) < 0 {
			return true
		}
		at += 2
	}
}

// shellDifference returns a form that bash reads differently from the parser; "" if there is none.
//
// Measured: the parser continues a comment whose line ends with a backslash; bash reads the next
// line as a command. `let x|make` is arithmetic for the parser and a pipeline for bash. bash
// evaluates a word behind >& that is not a number, even in single quotes, for its error message.
// bash ends a descriptor at its -, and reads <&-touch as <&- and a word; the parser does not.
//
// A plain sh reads &> as the operators & and >: a &> b c runs a, then c.
func shellDifference(file *syntax.File, text string, plainSh bool) (problem string) {
	between := func(n syntax.Node) string {
		if n == syntax.Node((*syntax.Word)(nil)) {
			return ""
		}
		from, to := int(n.Pos().Offset()), int(n.End().Offset())
		return text[min(from, len(text)):max(min(from, len(text)), min(to, len(text)))]
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comment:
			line, _, _ := strings.Cut(text[min(int(n.Hash.Offset()), len(text)):], "\n")
			if strings.HasSuffix(line, "\\") {
				problem = "a comment ends with a backslash"
			}
		case *syntax.LetClause:
			if strings.ContainsAny(between(n), "|&<>") {
				problem = "shells differ on the operators of let"
			}
		case *syntax.Stmt:
			call, _ := n.Cmd.(*syntax.CallExpr)
			for _, r := range n.Redirs {
				if plainSh && call != nil && len(call.Args) > 0 && (r.Op == syntax.RdrAll || r.Op == syntax.AppAll) && call.Args[len(call.Args)-1].Pos().After(r.OpPos) {
					problem = "shells differ on &>"
				}
			}
		case *syntax.CoprocClause:
			problem = "shells differ on what coproc runs"
		case *syntax.Redirect:
			switch word := between(n.Word); {
			case n.Word == nil:
			case n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc:
				if strings.Trim(strings.Trim(word, `'"`), wordLetters) != "" {
					problem = "shells differ on where a here-document ends"
				}
			case n.Op != syntax.DplOut && n.Op != syntax.DplIn:
			case strings.Contains(word, "$(") || strings.Contains(word, "`"):
				problem = "a descriptor is computed"
			case strings.Trim(word, "0123456789") != "" && word != "-" && (n.Op == syntax.DplIn || strings.IndexByte("-0123456789", word[0]) >= 0):
				problem = "shells differ on where a descriptor ends"
			}
		}
		return problem == ""
	})
	return problem
}

// wordLetters are the characters of simple words.
const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

var parsers = sync.Pool{New: func() any { return new(parserSet) }}

// parserSet has one reusable parser for each language.
type parserSet map[syntax.LangVariant]*syntax.Parser

// parse parses a text. It never panics and never recurses deeply: 64 KiB of "(" made the parser use
// 256 MiB of stack, and a program can't recover from a stack overflow.
func parse(text string, lang syntax.LangVariant) (file *syntax.File, err error) {
	d := parsers.Get().(*parserSet)
	defer func() {
		if v := recover(); v != nil {
			file, err = nil, errors.New("the parser gave up")
			return
		}
		parsers.Put(d)
	}()
	if *d == nil {
		*d = make(parserSet)
	}
	p := (*d)[lang]
	if p == nil {
		p = syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true))
		(*d)[lang] = p
	}
	return p.Parse(&depthLimitedReader{text: text}, "")
}

// depthLimitedReader passes a text to the parser in chunks. It fails if the parser's stack is too
// deep before the next chunk; no other place can check the depth.
type depthLimitedReader struct {
	text string
	at   int
}

const (
	chunkSize = 256
	maxFrames = 2000
)

var errTooDeep = errors.New("nested too deeply")

func (s *depthLimitedReader) Read(p []byte) (int, error) {
	if s.at > 0 {
		var pc [1]uintptr
		if runtime.Callers(maxFrames, pc[:]) > 0 {
			return 0, errTooDeep
		}
	}
	if s.at == len(s.text) {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), chunkSize)], s.text[s.at:])
	s.at += n
	return n, nil
}

// readCommand returns the node of a command, with the commands that it runs.
func (r *reader) readCommand(words []word, assigns []assignment, c readContext) *node {
	n := newNode(words, assigns)
	r.line.nodeCount++
	for i := range words {
		if words[i].runsUnseen != "" {
			r.line.markOpaque(n, words[i].runsUnseen)
		}
	}
	switch {
	case r.line.nodeCount > maxNodes:
		r.skip(n, "there are too many commands")
	case c.depth > maxDepth:
		r.skip(n, "commands are nested too deeply")
	case len(words) > maxWords:
		r.skip(n, "there are too many words")
	case len(words) > 0:
		r.recordPatch(n, c)
		if !r.readExpanded(n, c) {
			r.recordChanges(n)
		}
		r.handle(n, c)
	}
	if !n.wrapper { // the texts of wrappers are read as commands
		for i := range words {
			r.line.noteWord(&words[i])
		}
	}
	for i := range assigns {
		r.line.noteCommandText(assigns[i].word.knownPrefix()+assigns[i].word.suffix, "`$")
		_, value, _ := strings.Cut(assigns[i].word.knownPrefix()+assigns[i].word.suffix, "=")
		if (runsAtStartup(assigns[i].name, value) || assigns[i].name == "ENV" && assigns[i].word.kind != known) && n.opaque == "" {
			r.line.markOpaque(n, startReason(assigns[i].name))
		}
		r.readCommandVariable(n, assigns[i], c)
	}
	return n
}

// readExpanded reads the command that results from the lists in braces of a command, and returns
// false if it has no list. The decision on the command itself counts, too.
func (r *reader) readExpanded(n *node, c readContext) bool {
	words := expandLists(n.words)
	if words == nil {
		r.line.tooLong = r.line.tooLong || haveLists(n.words)
		return false
	}
	if len(words) > 0 {
		c.depth++
		n.add(r.readCommand(words, nil, c))
	}
	return true
}

// skip leaves a command unread.
func (r *reader) skip(n *node, why string) {
	r.line.markOpaque(n, why)
	r.line.tooLong = true
}

// readWithAssignments reads a command whose words may start with assignments, as in env. A word
// such as =git may be an assignment, and the command git in zsh: the command counts in both readings.
func (r *reader) readWithAssignments(words []word, c readContext) *node {
	var assigns []assignment
	var other *node // the reading in which words that assign no variable are commands
	for len(words) > 0 {
		name, _, ok := strings.Cut(words[0].knownPrefix(), "=")
		if !ok {
			break
		}
		if other == nil && !isVariableName(name) {
			other = r.readCommand(words, assigns, c)
		}
		assigns = append(assigns, assignment{name, words[0]})
		words = words[1:]
	}
	n := r.readCommand(words, assigns, c)
	if other != nil {
		n.add(other)
		n.needsBoth = true
	}
	return n
}
