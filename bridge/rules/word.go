package rules

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordKind is how much of a word is known.
type wordKind int

const (
	known        wordKind = iota
	single                // exactly one word, partly unknown
	expanded              // any number of words with the same prefix and suffix: globs, braces
	unknownWords          // any number of unknown words
)

// word is one word of a command after quote removal.
type word struct {
	kind           wordKind
	text           string     // if known
	prefix, suffix string     // if single or expanded: the known ends
	template       string     // if not known: its text, with NUL for each unknown part
	lists          *expansion // nil: the word has no lists in braces and no brackets
	underHome      bool       // ~ or ~/…: suffix is the path below the home folder
	processSubst   bool       // <(…) or >(…)
	runsUnseen     string     // why a shell may run something unknown for this word; "" if it does not
	keyMemo        string     // the result of key
}

// expansion is the result of the lists in braces and the bracket expressions of a word.
type expansion struct {
	// alternatives are the words that the lists expand to, once for each reading of the brackets,
	// with NUL for each unknown part. unexpanded reports that there are too many. braces reports
	// that the word has a list.
	alternatives []string
	unexpanded   bool
	braces       bool
}

func (w *word) hasList() bool { return w.lists != nil && w.lists.braces }

func (w *word) isUnexpanded() bool { return w.lists != nil && w.lists.unexpanded }

// alternatives returns the words that the lists in braces and the brackets of a word stand for; nil
// if it has none, or too many.
func (w *word) alternatives() []string {
	if w.lists == nil || w.lists.unexpanded {
		return nil
	}
	return w.lists.alternatives
}

// below returns the word of the file rest in the folder that the word names.
func (w word) below(rest string) word {
	join := func(folder string) string { return strings.TrimSuffix(folder+"/"+rest, "/") }
	w.text, w.template, w.suffix = join(w.text), join(w.template), join(w.suffix)
	if list := w.alternatives(); list != nil {
		lists := expansion{braces: w.lists.braces}
		for _, one := range list {
			lists.alternatives = append(lists.alternatives, join(one))
		}
		w.lists = &lists
	}
	return w
}

func literal(text string) word { return word{text: text} }

// literals returns the words of an argument vector.
func literals(texts []string) []word {
	words := make([]word, len(texts))
	for i, text := range texts {
		words[i] = literal(text)
	}
	return words
}

// key returns the programKey of a known word.
func (w *word) key() string {
	if w.keyMemo == "" {
		w.keyMemo = programKey(w.text)
	}
	return w.keyMemo
}

// mayBeOption reports whether the word may be an option, or a +toolchain.
func (w *word) mayBeOption() bool {
	begin := w.text
	if w.kind != known {
		if begin = w.prefix; begin == "" {
			return true
		}
	}
	return begin != "" && (begin[0] == '-' || begin[0] == '+')
}

// flattener removes the quotes of a word.
type flattener struct {
	lang  syntax.LangVariant
	zsh   bool   // zsh may read the word, whatever the language of the parser is
	bytes []byte // NUL for each unknown part
	plain []bool // which bytes are unquoted
	word  word
}

// flatten returns the word that a command will see, as far as it is known.
func flatten(parts []syntax.WordPart, lang syntax.LangVariant, zsh bool) word {
	if len(parts) == 1 {
		if lit, ok := parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{}~(") {
			return literal(lit.Value)
		}
	}
	f := flattener{lang: lang, zsh: zsh}
	f.parts(parts, false)
	return f.finish()
}

func (f *flattener) add(b byte, plain bool) {
	f.bytes, f.plain = append(f.bytes, b), append(f.plain, plain)
}

func (f *flattener) text(s string) {
	for i := range len(s) {
		f.add(s[i], false)
	}
}

func (f *flattener) unknown(kind wordKind) {
	f.add(0, false)
	f.word.kind = max(f.word.kind, kind)
}

func (f *flattener) parts(parts []syntax.WordPart, quoted bool) {
	kind := unknownWords
	if quoted {
		kind = single
	}
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			f.literal(p.Value, quoted)
		case *syntax.SglQuoted:
			if !p.Dollar {
				f.text(p.Value)
			} else {
				text, known := decodeANSIC(p.Value)
				f.text(text)
				if !known {
					f.word.kind = max(f.word.kind, single)
				}
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				f.unknown(single) // a translation
			}
			f.parts(p.Parts, true)
		case *syntax.ParamExp:
			if mayBeList(p) {
				f.unknown(unknownWords)
			} else {
				f.unknown(kind)
			}
		case *syntax.ProcSubst:
			f.word.processSubst = true
			f.unknown(single)
		case *syntax.ExtGlob:
			f.unknown(expanded)
		default: // command and arithmetic substitutions
			f.unknown(kind)
		}
	}
}

// mayBeList reports whether an expansion may be several words even in quotes.
func mayBeList(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Flags != nil || p.NestedParam != nil {
		return true
	}
	if p.Param.Value == "@" {
		return true
	}
	if w, ok := p.Index.(*syntax.Word); ok {
		return w.Lit() == "@"
	}
	return p.Index != nil
}

func (f *flattener) literal(s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			i++
			f.add(s[i], false)
		case c == '(' && !quoted && f.lang == syntax.LangZsh:
			// *(e:'command':) and *(+function) run something.
			f.word.runsUnseen = "zsh may run something for a glob's qualifier"
			f.unknown(expanded)
		default:
			f.add(c, !quoted)
		}
	}
}

// finish handles unquoted characters that stand for other words: ~, globs and braces.
func (f *flattener) finish() word {
	w := f.word
	if len(f.bytes) > 0 && f.bytes[0] == '~' && f.plain[0] {
		end := strings.IndexByte(string(f.bytes), '/')
		if end < 0 {
			end = len(f.bytes)
		}
		w.underHome = end == 1 && w.kind == known
		f.bytes = append([]byte{0}, f.bytes[end:]...)
		f.plain = append([]bool{false}, f.plain[end:]...)
		w.kind = max(w.kind, single)
	}
	if f.zsh && f.splitsAtBrace() {
		w.runsUnseen = "zsh may take a brace for the start or end of commands"
	}
	f.expand(&w)
	if f.markGlobs() {
		w.kind, w.underHome = max(w.kind, expanded), false
	}
	if w.kind == known {
		w.text = string(f.bytes)
		return w
	}
	text := string(f.bytes)
	w.template = text
	if w.kind != unknownWords {
		w.prefix, w.suffix = text, text
		if i := strings.IndexByte(text, 0); i >= 0 {
			w.prefix = text[:i]
			w.suffix = text[strings.LastIndexByte(text, 0)+1:]
		}
	}
	return w
}

// splitsAtBrace reports whether zsh may take an unquoted brace of the word for the start or the end
// of a group of commands. Measured: {git push} is such a group. A list such as {a,b} is none, nor
// is a word that begins with {}.
func (f *flattener) splitsAtBrace() bool {
	depth := 0
	for i, c := range f.bytes {
		switch {
		case !f.plain[i]:
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return true
		case c == '}':
			depth--
		}
	}
	if len(f.bytes) == 0 || f.bytes[0] != '{' || !f.plain[0] || strings.HasPrefix(string(f.bytes), "{}") {
		return false
	}
	words, ok := expandBraces(f.bytes, f.plain)
	return ok && words == nil
}

// openBracket and closeBracket stand for unquoted brackets in an expansion. A text that contains
// openBracket is not read.
const openBracket, closeBracket = 1, 2

// expand records the words that lists in braces and bracket expressions stand for.
func (f *flattener) expand(w *word) {
	text := slices.Clone(f.bytes)
	bracket, brackets, lists := false, false, false
	for i, c := range text {
		switch {
		case !f.plain[i]:
		case c == '*', c == '?', c == '$': // after the expansion, the name of a parameter may follow
			text[i] = 0
		case c == '[':
			text[i], bracket = openBracket, true
		case c == ']':
			text[i], brackets = closeBracket, bracket
		case c == '{':
			lists = true
		}
	}
	if !lists && !brackets {
		return
	}
	words, ok := expandBraces(text, f.plain)
	braces := words != nil || !ok
	if !braces {
		if !brackets {
			return
		}
		words = []string{string(text)}
	}
	w.lists = &expansion{unexpanded: !ok, braces: braces}
	for _, one := range words {
		w.lists.alternatives = append(w.lists.alternatives, readBrackets(one)...)
	}
}

// readBrackets returns a text in which brackets are characters, and one in which each name is
// unknown from its first to its last bracket. Shells do not agree on the end of a bracket
// expression, but none reads beyond a slash.
func readBrackets(text string) []string {
	unknown := strings.NewReplacer("\x01", "\x00", "\x02", "\x00")
	if strings.IndexByte(text, openBracket) < 0 {
		return []string{strings.ReplaceAll(text, "\x02", "]")}
	}
	names := strings.Split(text, "/")
	for i, name := range names {
		if first, last := strings.IndexByte(name, openBracket), strings.LastIndexByte(name, closeBracket); first >= 0 && last > first {
			names[i] = name[:first] + "\x00" + name[last+1:]
		}
	}
	return []string{unknown.Replace(text), unknown.Replace(strings.Join(names, "/"))}
}

// expandLists expands the lists in braces of a command's words, as a shell does before it runs the
// command: it drops words that become empty. It returns nil if there is no list, or if one expands
// to too many words.
func expandLists(words []word) []word {
	if !haveLists(words) {
		return nil
	}
	all := []word{}
	for _, w := range words {
		switch {
		case !w.hasList():
			all = append(all, w)
			continue
		case w.lists.unexpanded || len(all)+len(w.lists.alternatives) > maxWords:
			return nil
		}
		for _, text := range w.lists.alternatives {
			switch {
			case strings.Contains(text, "\x00"):
				all = append(all, word{kind: expanded, template: text, prefix: text[:strings.IndexByte(text, 0)]})
			case text != "":
				all = append(all, literal(text))
			}
		}
	}
	return all
}

// haveLists reports whether a word has a list in braces.
func haveLists(words []word) bool {
	for i := range words {
		if words[i].hasList() {
			return true
		}
	}
	return false
}

// markGlobs replaces globs and brace expansions by unknown parts, and reports whether there are
// any.
func (f *flattener) markGlobs() bool {
	found := false
	mark := func(i int) {
		f.bytes[i], found = 0, true
	}
	bracket, brace, list := -1, -1, false
	for i, c := range f.bytes {
		if !f.plain[i] {
			continue
		}
		switch c {
		case '*', '?':
			mark(i)
		case '[':
			if bracket < 0 {
				bracket = i
			}
		case ']':
			if bracket >= 0 {
				mark(bracket)
				mark(i)
			}
		case '{':
			if brace < 0 {
				brace = i
			}
		case ',':
			list = list || brace >= 0
		case '.':
			list = list || brace >= 0 && f.bytes[i-1] == '.'
		case '}':
			if brace >= 0 && list {
				mark(brace)
				mark(i)
			}
		}
	}
	return found
}

// knownPrefix returns the known beginning of the word.
func (w *word) knownPrefix() string {
	if w.kind == known {
		return w.text
	}
	return w.prefix
}
