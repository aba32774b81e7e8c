package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/config"
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
	kind           globKind
	text           string
	prefix, suffix string // of a patternWord: its literal ends
	flat           string // of a patternWord: with slash for each /
	base           string // of a patternWord: its last path element after FoldCase
	basePrefix     string // the literal prefix of base
}

// slash replaces / in words, so that --to* also matches --to=/etc. The * of doublestar stops at a
// /. No readable word contains this character: see unreadableReason.
const slash = "\x01"

// globMeta are the special characters of globs.
const globMeta = `*?[{\`

// compileWord returns the glob of a rule's word.
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
	g.base = FoldCase(text[strings.LastIndexByte(text, '/')+1:])
	g.basePrefix = g.base[:max(0, strings.IndexAny(g.base, globMeta))]
	g.prefix = text[:strings.IndexAny(text, globMeta)]
	if !strings.Contains(text, `\`) {
		g.suffix = text[strings.LastIndexAny(text, "*?]}[{")+1:]
	}
	return g
}

// maxGlobWordLen bounds the words that are compared with globs. The time is the product of both
// lengths for each alternative.
const maxGlobWordLen = 4096

// matches reports whether g matches a known word. An invalid pattern matches nothing; config.Load
// refuses it.
func (g *wordGlob) matches(word string) bool {
	switch g.kind {
	case literalWord:
		return g.text == word
	case patternWord:
		if len(word) > maxGlobWordLen || !strings.HasPrefix(word, g.prefix) || !strings.HasSuffix(word, g.suffix) {
			return false
		}
		ok, err := doublestar.Match(g.flat, strings.ReplaceAll(word, "/", slash))
		return err == nil && ok
	}
	return true
}

// certain reports whether g matches every word that w may be.
func (g *wordGlob) certain(w *word) bool {
	switch w.kind {
	case known:
		return g.matches(w.text) && (g.kind != patternWord || !hasParent(w.text) || hasParent(g.text))
	case single:
		return g.kind == oneWord
	}
	return false
}

// hasParent reports whether a word has a path element "..". A pattern such as build/* means files
// in build.
func hasParent(word string) bool {
	for element := range strings.SplitSeq(word, "/") {
		if element == ".." {
			return true
		}
	}
	return false
}

// possible reports whether g matches a word that w may be.
func (g *wordGlob) possible(w *word) bool {
	if g.kind == patternWord && len(w.text) > maxGlobWordLen {
		return true
	}
	if w.kind == known {
		return g.matches(w.text)
	}
	switch g.kind {
	case literalWord:
		return len(g.text) >= len(w.prefix)+len(w.suffix) && strings.HasPrefix(g.text, w.prefix) && strings.HasSuffix(g.text, w.suffix)
	case patternWord:
		n, m := min(len(g.prefix), len(w.prefix)), min(len(g.suffix), len(w.suffix))
		return g.prefix[:n] == w.prefix[:n] && g.suffix[len(g.suffix)-m:] == w.suffix[len(w.suffix)-m:]
	}
	return true
}

// matchesName reports whether g may match the name of a command. A name also matches by its base
// name without .exe and in any case, because some file systems ignore case.
func (g *wordGlob) matchesName(w *word) bool {
	if w.kind != known {
		i := strings.LastIndexByte(w.suffix, '/')
		switch {
		case g.kind != literalWord:
			return true
		case i >= 0:
			return programKey(g.text) == programKey(w.suffix[i+1:])
		}
		suffix := FoldCase(baseName(w.suffix))
		return strings.HasSuffix(programKey(g.text), suffix) || slices.ContainsFunc(executables, func(ext string) bool {
			return strings.HasSuffix(programKey(g.text)+ext, suffix)
		})
	}
	if g.kind == literalWord {
		return programKey(g.text) == w.key()
	}
	return g.kind == patternWord && strings.HasPrefix(w.key(), g.basePrefix) && config.Match(g.base, w.key())
}

// matchesAllowedName reports whether the name in an allow rule surely matches a command's name. A
// rule for git does not allow ./git or /tmp/git: it must spell the path, in which * does not match
// a slash.
func (g *wordGlob) matchesAllowedName(w *word) bool {
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

// matchesRelativePath reports whether g surely matches a program with a relative path in a folder
// of the workspace.
func (g *wordGlob) matchesRelativePath(folder, program string) bool {
	if folder == "." && g.kind == literalWord && g.text == program {
		return true // as written, even with ".."
	}
	if hasParent(program) || hasParent(g.text) || !strings.Contains(g.text, "/") {
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

// baseName returns the last element of a path with slashes or backslashes. zsh looks git up for
// =git.
func baseName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimPrefix(name, "=")
}

// executables are the file extensions that Windows adds to the name of a program.
var executables = []string{".exe", ".com", ".bat", ".cmd"}

// programKey returns the form that all spellings of a program's name share.
func programKey(name string) string {
	name = FoldCase(baseName(name))
	for _, ext := range executables {
		if short, ok := strings.CutSuffix(name, ext); ok && short != "" {
			return short
		}
	}
	return name
}
