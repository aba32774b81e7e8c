package config

import (
	"fmt"
	"slices"
	"strings"
)

// spec says what the value of one key may be, beyond the type its field has.
// Load checks by it, and Schema is made from it.
type spec struct {
	doc string

	// Of strings.
	enum    []string
	hints   map[string]string // of values that are refused: the mend
	pattern *expr             // the whole value
	wants   string            // what the pattern means, in words
	filled  bool              // not empty: strings and lists
	check   func(string) problem
	resolve func(from, string) (string, problem)
	secret  bool // the value is never shown

	// Of whole numbers, bytes and nanoseconds: both 0 means no bounds.
	least, most int64

	// Of lists.
	first   []string // what the first element may be
	program bool     // the first element is a program

	// Of tables.
	names     *expr // of the keys
	nameWants string
	nameCheck func(string) problem
	required  []string
	anyOf     []string // at least one of these keys
	oneOf     []string // exactly one of these keys
	schema    bool     // is itself a JSON Schema
}

// text checks a string.
func (s *spec) text(v string) problem {
	shown := "the value"
	if !s.secret {
		shown = clip(v)
	}
	if s.filled && strings.TrimSpace(v) == "" {
		return problem{"empty", "write a value or leave the key out"}
	}
	if s.enum != nil && !slices.Contains(s.enum, v) {
		if mend, ok := s.hints[v]; ok {
			return problem{shown + " is not allowed", mend}
		}
		mend := "write " + either(s.enum)
		if near := Nearest(v, s.enum); near != "" {
			mend = fmt.Sprintf("did you mean %q? It is one of %s", near, either(s.enum))
		}
		return problem{shown + " is not a known value", mend}
	}
	if s.pattern != nil && !s.pattern.MatchString(v) {
		return problem{shown + " does not fit", "write " + s.wants}
	}
	if s.check != nil {
		return s.check(v)
	}
	return problem{}
}

// number checks the bounds of a whole number, a duration or a size; show
// writes one as the file would.
func (s *spec) number(n int64, show func(int64) string) problem {
	switch {
	case s.least == 0 && s.most == 0:
	case n < s.least:
		return problem{show(n) + " is too little", "the least is " + show(s.least)}
	case n > s.most:
		return problem{show(n) + " is too much", "the most is " + show(s.most)}
	}
	return problem{}
}

// either lists values for a message: "a", "b" or "c".
func either(list []string) string {
	quoted := make([]string, len(list))
	for i, v := range list {
		quoted[i] = fmt.Sprintf("%q", v)
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return strings.Join(quoted, "")
}

// Nearest returns the known word that a mistyped one is likely to mean, or "".
func Nearest(word string, known []string) string {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(fold(word), fold(k)); d < least && d < len(word) {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of edits (insert, delete, replace, swap neighbours)
// between two words, cut off for long ones, which are no typing mistakes.
func distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	var before, last, row [long + 1]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
