package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge/bridge/config"
)

type globKind int

const (
	literalWord globKind = iota
	oneWord              // *
	restOfWords          // **
	patternWord          // a glob within one word, such as --force*
)

// wordGlob is one word of a rule's command.
type wordGlob struct {
	kind     globKind
	text     string
	pre, suf string // of a patternWord: what surely stands at its ends
	flat     string // of a patternWord: with / taken for any character
	base     string // of a patternWord: its last element in lower case
	basePre  string // … and what that begins with
}

// In a word of a command a slash is a character like others, so that --to*
// covers --to=/etc. doublestar stops a * at one; this stands in its place, and
// no word holds it that can be read (control is refused before).
const slash = "\x01"

const globMeta = `*?[{\`

func compileWord(text string) wordGlob {
	switch {
	case text == "*":
		return wordGlob{kind: oneWord}
	case text == "**":
		return wordGlob{kind: restOfWords}
	case !strings.ContainsAny(text, globMeta):
		return wordGlob{kind: literalWord, text: text}
	}
	g := wordGlob{kind: patternWord, text: text, flat: strings.ReplaceAll(text, "/", slash)}
	g.base = strings.ToLower(text[strings.LastIndexByte(text, '/')+1:])
	g.basePre = g.base[:max(0, strings.IndexAny(g.base, globMeta))]
	g.pre = text[:strings.IndexAny(text, globMeta)]
	if !strings.Contains(text, `\`) {
		g.suf = text[strings.LastIndexAny(text, "*?]}[{")+1:]
	}
	return g
}

// maxGlobbed bounds the words that are held against globs, which takes the
// product of both lengths for each alternative.
const maxGlobbed = 4096

// matches says whether a known word is meant. What doublestar refuses as a
// pattern matches nothing; config.Load has refused it before.
func (g *wordGlob) matches(word string) bool {
	switch g.kind {
	case literalWord:
		return g.text == word
	case patternWord:
		if len(word) > maxGlobbed || !strings.HasPrefix(word, g.pre) || !strings.HasSuffix(word, g.suf) {
			return false
		}
		ok, err := doublestar.Match(g.flat, strings.ReplaceAll(word, "/", slash))
		return err == nil && ok
	}
	return true
}

// certain says whether every word that w may turn out as is meant.
func (g *wordGlob) certain(w *word) bool {
	switch w.kind {
	case known:
		return g.matches(w.text) && (g.kind != patternWord || !climbs(w.text) || climbs(g.text))
	case single:
		return g.kind == oneWord
	}
	return false
}

// climbs says whether a word leads up: who writes build/* means what lies in build.
func climbs(word string) bool {
	for element := range strings.SplitSeq(word, "/") {
		if element == ".." {
			return true
		}
	}
	return false
}

// possible says whether some word that w may turn out as is meant.
func (g *wordGlob) possible(w *word) bool {
	if g.kind == patternWord && len(w.text) > maxGlobbed {
		return true
	}
	if w.kind == known {
		return g.matches(w.text)
	}
	switch g.kind {
	case literalWord:
		return len(g.text) >= len(w.pre)+len(w.suf) && strings.HasPrefix(g.text, w.pre) && strings.HasSuffix(g.text, w.suf)
	case patternWord:
		n, m := min(len(g.pre), len(w.pre)), min(len(g.suf), len(w.suf))
		return g.pre[:n] == w.pre[:n] && g.suf[len(g.suf)-m:] == w.suf[len(w.suf)-m:]
	}
	return true
}

// named is possible for the command word. That word also matches by its base name, in upper or lower
// case, since some file systems ignore the case, and without .exe.
func (g *wordGlob) named(w *word) bool {
	if w.kind != known {
		i := strings.LastIndexByte(w.suf, '/')
		switch {
		case g.kind != literalWord:
			return true
		case i >= 0:
			return nameKey(g.text) == nameKey(w.suf[i+1:])
		}
		suffix := strings.ToLower(baseName(w.suf))
		return strings.HasSuffix(nameKey(g.text), suffix) || slices.ContainsFunc(executables, func(ext string) bool {
			return strings.HasSuffix(nameKey(g.text)+ext, suffix)
		})
	}
	if g.kind == literalWord {
		return nameKey(g.text) == w.key()
	}
	return g.kind == patternWord && strings.HasPrefix(w.key(), g.basePre) && config.Match(g.base, w.key())
}

// command is certain for the command word of an allow rule. ./git and /tmp/git
// are not the git that was allowed: a path must be spelled, and a * in it stays
// between its slashes.
func (g *wordGlob) command(w *word) bool {
	if w.kind != known {
		return false
	}
	if !strings.ContainsAny(w.text, `/\`) {
		return g.matches(w.text)
	}
	switch g.kind {
	case literalWord:
		return g.text == w.text
	case patternWord:
		return strings.Contains(g.text, "/") && !strings.Contains(w.text, "..") && config.Match(g.text, w.text)
	}
	return false
}

// below is command for a relative path that is seen from a folder of the workspace.
func (g *wordGlob) below(folder, program string) bool {
	if folder == "." && g.kind == literalWord && g.text == program {
		return true // as it is written, even where it climbs
	}
	if climbs(program) || climbs(g.text) || !strings.Contains(g.text, "/") {
		return false
	}
	program, text := path.Join(folder, program), strings.TrimPrefix(g.text, "./")
	switch g.kind {
	case literalWord:
		return path.Clean(text) == program
	case patternWord:
		return config.Match(text, program) || config.Match(g.text, "./"+program)
	}
	return false
}

// baseName is the last element of a path in either notation; zsh runs =git by
// looking git up.
func baseName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimPrefix(name, "=")
}

// executables are the extensions by which Windows finds a program without them.
var executables = []string{".exe", ".com", ".bat", ".cmd"}

// nameKey is what two spellings of one program have in common.
func nameKey(name string) string {
	name = strings.ToLower(baseName(name))
	for _, ext := range executables {
		if short, ok := strings.CutSuffix(name, ext); ok && short != "" {
			return short
		}
	}
	return name
}
