package main

import (
	"strings"
	"testing"
)

// Long words, and texts in quotes that fit a line, stay whole; nothing but spaces is lost.
func TestWrapLine(t *testing.T) {
	for _, tt := range []struct{ line, start, next, want string }{
		{"short", "", "  ", "short"},
		{"one two three four five", "", "  ", "one two three|  four five"},
		{"head  one two three", "head  ", "      ", "head  one two|      three"},
		{"a /long/path/of/one/word b", "", "  ", "a|  /long/path/of/one/word|  b"},
		{`say "two words" now`, "", "  ", `say|  "two words"|  now`},
		{`an odd " in a long text`, "", "  ", `an odd " in a|  long text`},
		{"äöü äöü äöü äöü", "", "", "äöü äöü äöü|äöü"},
	} {
		got := wrapLine(tt.line, tt.start, tt.next, 13)
		if got != strings.ReplaceAll(tt.want, "|", "\n") {
			t.Errorf("%q became %q, want %q", tt.line, got, tt.want)
		}
	}
}
