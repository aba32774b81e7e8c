package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Match says whether a glob of the configuration (models, commands, a rule's
// tool; config_keys segment by segment) matches a name. It is the reading by which Load
// judges whether a later layer's glob is narrower, so whoever acts on these
// lists should use it too.
func Match(pattern, name string) bool {
	ok, err := doublestar.Match(pattern, name)
	return err == nil && ok
}

const globMeta = `*?[{\`

// A glob with many groups of alternatives is matched by trying them all, so a
// workspace file could make every decision take for ever.
const (
	maxGlob         = 1024 // bytes
	maxAlternatives = 256
)

func checkGlob(s string) problem { return globFault(s, s) }

// globFault checks a glob that is shown with something before it.
func globFault(s, shown string) problem {
	switch {
	case len(s) > maxGlob:
		return problem{fmt.Sprintf("a glob of %d bytes is too long", len(s)), fmt.Sprintf("the most is %d; write several", maxGlob)}
	case !doublestar.ValidatePattern(s):
		return problem{clip(shown) + " is not a valid glob", "check its brackets and backslashes"}
	case alternatives(s) > maxAlternatives:
		return problem{clip(shown) + " has too many alternatives", fmt.Sprintf("the most is %d; write several", maxAlternatives)}
	}
	return problem{}
}

// alternatives counts what the braces of a valid glob expand to, up to a
// little above the maximum.
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

// narrower says whether everything that the pattern later matches is also
// matched by earlier. It is sound, not complete: where it cannot tell it says
// no.
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
	// A star ends at a slash, so the rest of the later pattern must not reach
	// beyond one: no slash, no **, and no class or escape that could hold one.
	rest := later[len(prefix):]
	return !strings.ContainsAny(rest, `/[\`) && !strings.Contains(rest, "**")
}

// checkKeyGlob checks an entry of config_keys, whose segments between the dots
// are globs of their own: * is any run of characters in one, ** any number of
// them.
func checkKeyGlob(s string) problem {
	for segment := range strings.SplitSeq(s, ".") {
		if segment == "" {
			return problem{clip(s) + " has an empty segment", "write one name or glob between two dots"}
		}
		if p := globFault(segment, s); !p.ok() {
			return p
		}
	}
	return problem{}
}

// narrowerKeys is narrower for config_keys, where a pattern also covers
// everything below the keys it matches.
func narrowerKeys(earlier, later string) bool {
	if earlier == later || earlier == "*" || earlier == "**" {
		return true
	}
	e, l := strings.Split(earlier, "."), strings.Split(later, ".")
	if len(l) < len(e) {
		return false
	}
	for i := range e {
		// ** is no segment but a number of them, none included.
		if e[i] == "**" || l[i] == "**" || e[i] != "*" && !narrower(e[i], l[i]) {
			return false
		}
	}
	return true
}

// checkCommandGlob checks an entry of commands: words, each a glob of its own.
func checkCommandGlob(s string) problem {
	for _, word := range strings.Fields(s) {
		if p := globFault(word, s); !p.ok() {
			return p
		}
	}
	return problem{}
}

// narrowerCommands is narrower for commands, where a pattern also covers what
// begins with its words, and where only a pattern of two words, the first of which
// is not any, opens a form of the app-server that goes past the policy.
func narrowerCommands(earlier, later string) bool {
	e, l := strings.Fields(earlier), strings.Fields(later)
	if slices.Equal(e, l) {
		return true
	}
	if len(e) == 0 || len(l) < len(e) {
		return false
	}
	if !anyWord(l[0]) && (anyWord(e[0]) || len(e) == 1) && opensMore(l) {
		return false
	}
	for i := range e {
		if !narrower(e[i], l[i]) {
			return false
		}
	}
	return true
}

func anyWord(glob string) bool { return strings.Trim(glob, "*") == "" }

// pastPolicy are the commands that a pattern for any command does not open.
var pastPolicy = []string{"app-server", "remote-control", "stdio-to-uds"}

// opensMore tells whether a pattern could open one of those that an earlier one
// for any command, or for all of app-server, does not.
func opensMore(words []string) bool {
	return slices.ContainsFunc(pastPolicy, func(name string) bool {
		return Match(words[0], name) && (name != "app-server" || len(words) > 1)
	})
}
