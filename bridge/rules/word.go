package rules

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

type wordKind int

const (
	known  wordKind = iota
	single          // exactly one word, partly unknown
	each            // any number of words, all with the same ends: globs, braces
	many            // any number of words, about which nothing is known
)

// word is one word of a command after quote removal.
type word struct {
	kind     wordKind
	text     string     // when known
	pre, suf string     // when single or each: what is known of its ends
	spelled  string     // when not known: its text, with NUL for what is not known
	lists    *expansion // nil: the word has no lists in braces and no brackets
	home     bool       // ~ or ~/…: suf is what follows the home folder
	source   bool       // <(…) or >(…)
	foreign  string     // why a shell may run something for this word that can't be seen
	lower    string     // memo of key
}

// expansion is what the lists in braces and the bracket expressions of a word stand for.
type expansion struct {
	// alternatives are the words that the lists expand to, each once for every reading of its brackets, with NUL for
	// each unknown part. unexpanded reports that there are too many. braces reports that the word has a list.
	alternatives []string
	unexpanded   bool
	braces       bool
}

func (w *word) hasList() bool { return w.lists != nil && w.lists.braces }

func (w *word) isUnexpanded() bool { return w.lists != nil && w.lists.unexpanded }

// alternatives returns the words that the lists in braces and the brackets of a word stand for; nil if it has
// none, or too many.
func (w *word) alternatives() []string {
	if w.lists == nil || w.lists.unexpanded {
		return nil
	}
	return w.lists.alternatives
}

func literal(text string) word { return word{text: text} }

// literals are the words of an argument vector.
func literals(texts []string) []word {
	words := make([]word, len(texts))
	for i, text := range texts {
		words[i] = literal(text)
	}
	return words
}

func (w *word) key() string {
	if w.lower == "" {
		w.lower = nameKey(w.text)
	}
	return w.lower
}

// option says whether the word may be an option, or a +toolchain.
func (w *word) option() bool {
	begin := w.text
	if w.kind != known {
		if begin = w.pre; begin == "" {
			return true
		}
	}
	return begin != "" && (begin[0] == '-' || begin[0] == '+')
}

// flattener takes the quotes off a word.
type flattener struct {
	lang  syntax.LangVariant
	bytes []byte // NUL is where something is not known
	plain []bool // which bytes stood outside of quotes
	word  word
}

// flatten gives the word as the command will see it, as far as that is known.
func flatten(parts []syntax.WordPart, lang syntax.LangVariant) word {
	if len(parts) == 1 {
		if lit, ok := parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{~(") {
			return literal(lit.Value)
		}
	}
	f := flattener{lang: lang}
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
	kind := many
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
				text, known := ansiC(p.Value)
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
			if list(p) {
				f.unknown(many)
			} else {
				f.unknown(kind)
			}
		case *syntax.ProcSubst:
			f.word.source = true
			f.unknown(single)
		case *syntax.ExtGlob:
			f.unknown(each)
		default: // command and arithmetic substitutions
			f.unknown(kind)
		}
	}
}

// list says whether an expansion may be several words even in quotes.
func list(p *syntax.ParamExp) bool {
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
			f.word.foreign = "zsh may run something for a glob's qualifier"
			f.unknown(each)
		default:
			f.add(c, !quoted)
		}
	}
}

// finish looks for what outside of quotes stands for other words: ~, globs,
// braces.
func (f *flattener) finish() word {
	w := f.word
	if len(f.bytes) > 0 && f.bytes[0] == '~' && f.plain[0] {
		end := strings.IndexByte(string(f.bytes), '/')
		if end < 0 {
			end = len(f.bytes)
		}
		w.home = end == 1 && w.kind == known
		f.bytes = append([]byte{0}, f.bytes[end:]...)
		f.plain = append([]bool{false}, f.plain[end:]...)
		w.kind = max(w.kind, single)
	}
	f.expand(&w)
	if f.globs() {
		w.kind, w.home = max(w.kind, each), false
	}
	if w.kind == known {
		w.text = string(f.bytes)
		return w
	}
	text := string(f.bytes)
	w.spelled = text
	if w.kind != many {
		w.pre, w.suf = text, text
		if i := strings.IndexByte(text, 0); i >= 0 {
			w.pre = text[:i]
			w.suf = text[strings.LastIndexByte(text, 0)+1:]
		}
	}
	return w
}

// Characters that stand for brackets outside of quotes in an expansion. A line with openBracket is not read.
const openBracket, closeBracket = 1, 2

// expand records the words that lists in braces and bracket expressions stand for.
func (f *flattener) expand(w *word) {
	text := slices.Clone(f.bytes)
	bracket, brackets, lists := false, false, false
	for i, c := range text {
		switch {
		case !f.plain[i]:
		case c == '*', c == '?', c == '$': // behind a list there may be the name of a parameter
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

// readBrackets returns a text whose brackets are characters, and one in which everything in a name from the first
// bracket to the last is unknown: shells do not agree on where a bracket expression ends, and none goes beyond a
// slash.
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

// spread expands the lists in braces of a command's words, as a shell does before it runs the command: words that
// become empty are dropped. It returns nil if there is no list, or if one expands to too many words.
func spread(words []word) []word {
	if !anyLists(words) {
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
				all = append(all, word{kind: each, spelled: text, pre: text[:strings.IndexByte(text, 0)]})
			case text != "":
				all = append(all, literal(text))
			}
		}
	}
	return all
}

// anyLists reports whether a word has a list in braces.
func anyLists(words []word) bool {
	for i := range words {
		if words[i].hasList() {
			return true
		}
	}
	return false
}

// globs turns what is a glob or a brace expansion into unknowns.
func (f *flattener) globs() bool {
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

// begin is what is known of the word's beginning.
func (w *word) begin() string {
	if w.kind == known {
		return w.text
	}
	return w.pre
}
