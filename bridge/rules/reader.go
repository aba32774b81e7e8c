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
	maxText  = 64 << 10 // bytes of a command line
	maxDepth = 8        // wrappers in wrappers
	maxNodes = 2000     // simple commands of a line
	maxWords = 4096     // words of one command
	maxLoose = 128      // words of a command whose options are not known
	maxRead  = 4 * maxText
	maxWrite = 256 // redirections into files, and folders that a line changes to

	maxOperands = 4096 // files that programs change
)

// reader gathers what a command line runs.
type reader struct {
	line *line
	read int // bytes that were parsed: a text may be read again for each wrapper
}

// context is what a command depends on.
type context struct {
	shell dialect
	depth int
	stdin *string // when it is written in the line: a here-document
	inner bool    // it is itself the rest of a command: don't take its rests again
}

func (c context) deeper() context {
	c.depth++
	c.stdin = nil
	return c
}

// dialect is how a shell reads a text.
type dialect struct {
	// langs are the readings that count, beside that of bash. The dialects differ in
	// what is a command.
	langs []syntax.LangVariant
	// lenient: which of them counts is not known, so that one which fails is left out.
	lenient bool
	// proven: the shell reads the lines of the grammar as parsePlain does.
	proven bool
}

// shells are the dialects by the names of the shells.
var shells = map[string]dialect{
	"bash":  {proven: true},
	"sh":    {langs: []syntax.LangVariant{syntax.LangPOSIX}, proven: true},
	"dash":  {langs: []syntax.LangVariant{syntax.LangPOSIX}, proven: true},
	"zsh":   {langs: []syntax.LangVariant{syntax.LangZsh}, proven: true},
	"rbash": {}, "rzsh": {langs: []syntax.LangVariant{syntax.LangZsh}}, "ash": {langs: []syntax.LangVariant{syntax.LangPOSIX}},
	"ksh": {langs: []syntax.LangVariant{syntax.LangMirBSDKorn}}, "mksh": {langs: []syntax.LangVariant{syntax.LangMirBSDKorn}},
	"oksh": {langs: []syntax.LangVariant{syntax.LangMirBSDKorn}},
}

// dialectOf returns the dialect of a shell. Of one that is not known all count.
func dialectOf(shell string) dialect {
	if d, ok := shells[shell]; ok {
		return d
	}
	return dialect{langs: []syntax.LangVariant{syntax.LangPOSIX, syntax.LangZsh}, lenient: true}
}

// text reads shell text as the shells of that dialect do. A line of the grammar is read
// in one way; for any other, nothing of the whole line can be allowed.
func (r *reader) text(text string, c context) []*node {
	fault := legible(text)
	r.read += len(text)
	r.line.tooLong = r.line.tooLong || len(text) > maxText || c.depth > maxDepth || r.read > maxRead || r.line.size > maxNodes
	switch {
	case fault != "":
	case c.depth > maxDepth:
		fault = "commands are nested too deeply"
	case r.read > maxRead, r.line.size > maxNodes:
		fault = "there are too many commands"
	}
	if fault != "" {
		r.line.write(unreadWrite)
		r.line.partial = true
		return []*node{opaqueNode(text, fault)}
	}
	c.inner = false
	commands, why := parsePlain(text)
	if why == "" && c.shell.proven {
		return r.plain(commands, c)
	}
	if why == "" {
		why = "it is not known which shell reads it"
	}
	if r.line.outside == "" {
		r.line.outside = why
	}
	var nodes []*node
	if slices.Contains(c.shell.langs, syntax.LangZsh) {
		// Measured: zsh drops a backslash at the end, and a $ with one of these behind it.
		if strings.HasSuffix(text, "\\") || strings.Contains(text, "$~") || strings.Contains(text, "$^") || strings.Contains(text, "$=") {
			nodes = append(nodes, opaqueNode(text, "zsh may leave characters out of a word"))
			r.line.partial = true
		}
	}
	parsed := false
	for i := range 1 + len(c.shell.langs) {
		lang := syntax.LangBash
		if i > 0 {
			lang = c.shell.langs[i-1]
		}
		file, err := parse(text, lang)
		if err != nil {
			if i == 0 || !c.shell.lenient {
				r.line.write(unreadWrite)
				nodes = append(nodes, opaqueNode(text, "it can't be parsed as shell"))
			}
			continue
		}
		parsed = true
		if fault := differs(file, text, len(c.shell.langs) > 0); fault != "" {
			nodes = append(nodes, opaqueNode(text, fault))
		}
		w := walker{reader: r, source: text, context: c, lang: lang}
		syntax.Walk(file, w.visit)
		nodes = append(nodes, w.nodes...)
	}
	r.line.partial = r.line.partial || !parsed
	return nodes
}

// plain makes the nodes of a line in the grammar.
func (r *reader) plain(commands []plainCommand, c context) []*node {
	nodes := make([]*node, 0, len(commands))
	for _, command := range commands {
		if r.line.size > maxNodes {
			return nodes // the first one too many says all
		}
		n := r.command(literals(command.words), nil, c)
		n.text = command.text
		nodes = append(nodes, n)
		for _, redirect := range command.redirects {
			if redirect.target != "" && redirect.target != devNull {
				r.line.write(write{text: redirect.text, target: literal(redirect.target), read: redirect.operator == "<"})
			}
		}
	}
	return nodes
}

// legible refuses what shells read differently, before anybody reads it.
func legible(text string) string {
	switch {
	case len(text) > maxText:
		return "it is longer than 64 KiB"
	case !utf8.ValidString(text):
		return "it is not valid UTF-8"
	case strings.ContainsAny(text, "\x00\x01\r"):
		return "it holds control characters"
	case splitOperator(text):
		return "a line is continued in the middle of an operator"
	}
	return ""
}

// splitOperator looks for a line that is continued behind the first character of
// what may be an operator. Measured: bash takes the break out before it reads $( or
// <(, between double quotes too; the parser sees two characters of their own.
func splitOperator(text string) bool {
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

// differs says what bash reads otherwise than the parser, "" nothing.
//
// Measured: for the parser a comment whose line ends with a backslash goes on, for
// bash the next line is a command of its own. `let x|make` is arithmetic for the
// parser and a pipeline for bash. Of a word behind >& that is no number bash
// evaluates even what stands between single quotes, to tell that it is wrong. bash ends
// a descriptor at its -, and reads <&-touch as <&- and a word: the parser does not.
//
// For a plain sh, & and > are two operators: a &> b c runs a, and then c.
func differs(file *syntax.File, text string, plainSh bool) (fault string) {
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
				fault = "a comment ends with a backslash"
			}
		case *syntax.LetClause:
			if strings.ContainsAny(between(n), "|&<>") {
				fault = "shells differ on the operators of let"
			}
		case *syntax.Stmt:
			call, _ := n.Cmd.(*syntax.CallExpr)
			for _, r := range n.Redirs {
				if plainSh && call != nil && len(call.Args) > 0 && (r.Op == syntax.RdrAll || r.Op == syntax.AppAll) && call.Args[len(call.Args)-1].Pos().After(r.OpPos) {
					fault = "shells differ on &>"
				}
			}
		case *syntax.CoprocClause:
			fault = "shells differ on what coproc runs"
		case *syntax.Redirect:
			switch word := between(n.Word); {
			case n.Word == nil:
			case n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc:
				if strings.Trim(strings.Trim(word, `'"`), wordLetters) != "" {
					fault = "shells differ on where a here-document ends"
				}
			case n.Op != syntax.DplOut && n.Op != syntax.DplIn:
			case strings.Contains(word, "$(") || strings.Contains(word, "`"):
				fault = "a descriptor is computed"
			case strings.Trim(word, "0123456789") != "" && word != "-" && (n.Op == syntax.DplIn || strings.IndexByte("-0123456789", word[0]) >= 0):
				fault = "shells differ on where a descriptor ends"
			}
		}
		return fault == ""
	})
	return fault
}

const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

var parsers = sync.Pool{New: func() any { return new(dialects) }}

// dialects are parsers that can be used again.
type dialects map[syntax.LangVariant]*syntax.Parser

// parse never panics and never recurses deeply: 64 KiB of "(" made the parser
// use 256 MiB of stack, and a stack overflow can't be recovered from.
func parse(text string, lang syntax.LangVariant) (file *syntax.File, err error) {
	d := parsers.Get().(*dialects)
	defer func() {
		if v := recover(); v != nil {
			file, err = nil, errors.New("the parser gave up")
			return
		}
		parsers.Put(d)
	}()
	if *d == nil {
		*d = make(dialects)
	}
	p := (*d)[lang]
	if p == nil {
		p = syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true))
		(*d)[lang] = p
	}
	return p.Parse(&shallow{text: text}, "")
}

// shallow hands a text to the parser in pieces, and stops when the parser has
// gone too deep for the next one: it is the only place where that can be seen.
type shallow struct {
	text string
	at   int
}

const (
	piece     = 256
	maxFrames = 2000
)

var errDeep = errors.New("nested too deeply")

func (s *shallow) Read(p []byte) (int, error) {
	if s.at > 0 {
		var pc [1]uintptr
		if runtime.Callers(maxFrames, pc[:]) > 0 {
			return 0, errDeep
		}
	}
	if s.at == len(s.text) {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), piece)], s.text[s.at:])
	s.at += n
	return n, nil
}

// command makes a node of words, with what they run.
func (r *reader) command(words []word, assigns []assign, c context) *node {
	n := newNode(words, assigns)
	r.line.size++
	switch {
	case r.line.size > maxNodes:
		r.skip(n, "there are too many commands")
	case c.depth > maxDepth:
		r.skip(n, "commands are nested too deeply")
	case len(words) > maxWords:
		r.skip(n, "there are too many words")
	case len(words) > 0:
		r.patch(n, c)
		if !r.spread(n, c) {
			r.change(n)
		}
		r.open(n, c)
	}
	if !n.wrapper { // the texts of wrappers are read as what they are
		for i := range words {
			r.line.holds(words[i].begin(), "`")
		}
	}
	for i := range assigns {
		r.line.holds(assigns[i].word.begin()+assigns[i].word.suf, "`$")
		_, value, _ := strings.Cut(assigns[i].word.begin()+assigns[i].word.suf, "=")
		if (runs(assigns[i].name, value) || assigns[i].name == "ENV" && assigns[i].word.kind != known) && n.opaque == "" {
			n.opaque = "it sets " + assigns[i].name + ", which makes a shell run something"
		}
	}
	return n
}

// spread reads the command that lists in braces make of a command, and returns false if there is none. What is
// decided of the command itself counts, too.
func (r *reader) spread(n *node, c context) bool {
	words := spread(n.words)
	if words == nil {
		r.line.tooLong = r.line.tooLong || anyLists(n.words)
		return false
	}
	if len(words) > 0 {
		c.depth++
		r.kid(n, r.command(words, nil, c))
	}
	return true
}

// skip leaves a command unread.
func (r *reader) skip(n *node, why string) { n.opaque, r.line.tooLong = why, true }

// prefixed is command for words that may begin with assignments, as env takes
// them.
func (r *reader) prefixed(words []word, c context) *node {
	var assigns []assign
	for len(words) > 0 {
		name, _, ok := strings.Cut(words[0].begin(), "=")
		if !ok {
			break
		}
		assigns = append(assigns, assign{name, words[0]})
		words = words[1:]
	}
	return r.command(words, assigns, c)
}
