package output

import (
	"strings"
	"testing"
)

// Columns are aligned by the columns of a terminal: a Chinese character takes two, and a combining mark none.
func TestTableCountsColumns(t *testing.T) {
	var rows Table
	rows.Row("规则", "a")
	rows.Row("e\u0301", "b")
	rows.Row("👩‍💻", "c")
	rows.Row("four", "规则 拒绝 命令 规则 拒绝")
	const want = "规则  a\ne\u0301     b\n👩‍💻    c\nfour  规则 拒绝\n      命令 规则\n      拒绝\n"
	if got := rows.Text(18); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

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
		{"规则 拒绝 命令", "", "  ", "规则 拒绝|  命令"},
		{"规则: 拒绝 命令", "规则: ", "      ", "规则: 拒绝|      命令"},
		{"e\u0301te\u0301 e\u0301te\u0301 e\u0301te\u0301", "", "  ", "e\u0301te\u0301 e\u0301te\u0301 e\u0301te\u0301"},
		{`说 "规则 拒绝 命令" 吧`, "", "", `说 "规则 拒绝|命令" 吧`}, // longer than a line
	} {
		got := wrapLine(tt.line, tt.start, tt.next, 13)
		if got != strings.ReplaceAll(tt.want, "|", "\n") {
			t.Errorf("%q became %q, want %q", tt.line, got, tt.want)
		}
	}
}
