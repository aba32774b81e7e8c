package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/argv"
)

// Match reports whether a glob of the configuration matches a name. Globs are those of models and of
// a rule's tool, each word of commands and each segment of config_keys. Packages that apply the
// policy must use Match: Load compares the globs of layers by it.
func Match(pattern, name string) bool {
	if !strings.HasPrefix(name, asciiStart(pattern)) {
		return false // most globs of a long list
	}
	ok, err := doublestar.Match(pattern, name)
	return err == nil && ok
}

// asciiStart returns the start of a glob that each matching name begins with. It ends before a slash, since that
// of "a/**" is optional, and before other characters than ASCII, since doublestar takes any byte that is not UTF-8
// for U+FFFD.
func asciiStart(glob string) string {
	for i := range len(glob) {
		switch c := glob[i]; c {
		case '*', '?', '[', '{', '\\', '/':
			return glob[:i]
		default:
			if c >= utf8.RuneSelf {
				return glob[:i]
			}
		}
	}
	return glob
}

const globMeta = `*?[{\`

// Limits of a glob. Matching tries all combinations of alternatives.
const (
	maxGlobLen      = 1024 // bytes
	maxAlternatives = 256
)

func checkGlob(s string) *Error { return checkGlobPart(s, s) }

// checkGlobPart checks a glob that is a part of a value. The error shows the value.
func checkGlobPart(s, shown string) *Error {
	switch {
	case len(s) > maxGlobLen:
		return newError(fmt.Sprintf("a glob of %d bytes is too long", len(s)), fmt.Sprintf("the maximum is %d; write several", maxGlobLen))
	case !doublestar.ValidatePattern(s):
		return newError(quote(shown)+" is not a valid glob", "check its brackets and backslashes")
	case alternatives(s) > maxAlternatives:
		return newError(quote(shown)+" has too many alternatives", fmt.Sprintf("the maximum is %d; write several", maxAlternatives))
	}
	return nil
}

// alternatives returns the number of texts to which the braces of a valid glob expand. It stops
// counting above maxAlternatives.
func alternatives(s string) int {
	type group struct{ done, here int } // alternatives before this one, and in it
	stack := []group{{0, 1}}
	for i := 0; i < len(s); i++ {
		top := &stack[len(stack)-1]
		switch s[i] {
		case '\\':
			i++
		case '{':
			stack = append(stack, group{0, 1})
		case ',':
			if len(stack) > 1 {
				*top = group{top.done + top.here, 1}
			}
		case '}':
			if len(stack) > 1 {
				n := top.done + top.here
				stack = stack[:len(stack)-1]
				outer := &stack[len(stack)-1]
				outer.here = min(outer.here*n, maxAlternatives+1)
			}
		}
		stack[len(stack)-1].done = min(stack[len(stack)-1].done, maxAlternatives+1)
	}
	return stack[0].here
}

// narrower reports whether earlier matches each text that later matches. It may return false for
// patterns that are narrower, but never true for others.
func narrower(earlier, later string) bool {
	if earlier == later || earlier == "**" {
		return true
	}
	i := strings.IndexAny(later, globMeta)
	if i < 0 {
		return Match(earlier, later)
	}
	prefix, ok := strings.CutSuffix(earlier, "*")
	if !ok || strings.ContainsAny(prefix, globMeta) || !strings.HasPrefix(later[:i], prefix) {
		return false
	}
	// A star ends at a slash. The rest of the later pattern must not match one, as a slash, **, a class
	// or an escape could.
	rest := later[len(prefix):]
	if end := strings.LastIndexByte(rest, '}'); end >= 0 && strings.Contains(rest[:end], "*") {
		return false // alternatives are expanded first, so {*}* is **
	}
	return !strings.ContainsAny(rest, `/[\`) && !strings.Contains(rest, "**")
}

// CoversNames reports whether a list of globs, such as models, matches each name that another one
// matches. A nil list matches all names. The result may be false for lists that do, but never true
// for others.
func CoversNames(outer, inner []string) bool {
	return outer == nil || inner != nil && covers(outer, inner, narrower)
}

// CoversKeys is CoversNames for config_keys, where a nil list matches none.
func CoversKeys(outer, inner []string) bool { return covers(outer, inner, narrowerKeys) }

func covers(outer, inner []string, narrower func(outer, inner string) bool) bool {
	return !slices.ContainsFunc(inner, func(one string) bool {
		return !slices.ContainsFunc(outer, func(glob string) bool { return narrower(glob, one) })
	})
}

// checkKeyGlob checks a value of config_keys. Each segment between dots is a glob; ** matches any
// number of segments.
func checkKeyGlob(s string) *Error {
	for segment := range strings.SplitSeq(s, ".") {
		if segment == "" {
			return newError(quote(s)+" has an empty segment", "write one name or glob between two dots")
		}
		if e := checkGlobPart(segment, s); e != nil {
			return e
		}
	}
	return nil
}

// narrowerKeys is narrower for config_keys, where a pattern also matches the keys below a match.
func narrowerKeys(earlier, later string) bool {
	if earlier == later || earlier == "*" || earlier == "**" {
		return true
	}
	e, l := strings.Split(earlier, "."), strings.Split(later, ".")
	if len(l) < len(e) {
		return false
	}
	for i := range e {
		// ** may be no segment.
		if e[i] == "**" || l[i] == "**" || e[i] != "*" && !narrower(e[i], l[i]) {
			return false
		}
	}
	return true
}

// checkWords checks a value whose words are globs.
func checkWords(s string) *Error {
	for _, word := range strings.Fields(s) {
		if e := checkGlobPart(word, s); e != nil {
			return e
		}
	}
	return nil
}

// narrowerCommands is narrower for commands, where a pattern also matches longer commands. Where the later pattern
// must write a command out, so must the earlier one.
func narrowerCommands(earlier, later string) bool {
	e, l := strings.Fields(earlier), strings.Fields(later)
	if slices.Equal(e, l) {
		return true
	}
	if len(e) == 0 || len(l) < len(e) {
		return false
	}
	for i := range e {
		if !narrower(e[i], l[i]) {
			return false
		}
	}
	for n := 1; n <= len(l); n++ {
		if mustBeWritten(l[:n]) && (len(e) < n || !slices.Equal(e[:n], l[:n])) {
			return false
		}
	}
	return true
}

// mustBeWritten reports whether these words are a command that only a pattern with the same words allows: a
// door, or one nested in a command of the table that the table does not have.
func mustBeWritten(words []string) bool {
	if door := argv.FindDoor(words); door != nil {
		return door.Name == strings.Join(words, " ")
	}
	parent := argv.LookUp(words[:len(words)-1]...)
	return parent != nil && parent.HasNested() && argv.LookUp(words...) == nil && !strings.ContainsAny(words[len(words)-1], globMeta)
}
