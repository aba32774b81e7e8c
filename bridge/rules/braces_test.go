package rules

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Lists in braces are expanded as in bash. A range becomes an unknown part. Quoted braces, and
// braces without a comma or an end, are not a list. X marks a quoted byte.
func TestExpandBraces(t *testing.T) {
	for text, want := range map[string]string{
		"a":               "",
		"":                "",
		"{a,b}":           "a b",
		"x{a,b}y":         "xay xby",
		"{a,b}{c,d}":      "ac ad bc bd",
		"{a,{b,c}d}e":     "ae bde cde",
		"{a,b{c}}":        "a b{c}",
		"{a,}":            "a ",
		"{,}":             " ",
		"{a}":             "",
		"{}":              "",
		"{a,b":            "",
		"a,b}":            "",
		"a,{b}":           "",
		"{a}{b,c}":        "{a}b {a}c",
		"{{a,b}":          "{a {b",
		"{a,b}}":          "a} b}",
		"x{1..3}y":        "x?y",
		"x{1..3}{a,b}":    "x?a x?b",
		"x{1..}{a,b}":     "x{1..}a x{1..}b x?a x?b",
		"{1.3}":           "",
		"{1.3.5}":         "",
		"{a.,.b}":         "a. .b",
		"{a..b,c}":        "a..b c",
		"1..3":            "",
		"{{1..3}":         "{?",
		"{{a..b},c}":      "? c",
		"{a{b,c..d},..e}": "ab ac..d ..e",
		"{aXb,c}":         "aXb c",
	} {
		plain := make([]bool, len(text))
		for i, c := range []byte(text) {
			plain[i] = c != 'X'
		}
		words, ok := expandBraces([]byte(text), plain)
		got := strings.ReplaceAll(strings.Join(words, " "), "\x00", "?")
		if got != want || !ok || (words == nil) != (want == "") {
			t.Errorf("%s: got %q, %t, want %q", text, got, ok, want)
		}
	}
	const lists = "{a,b}xy{cc,d}"
	second := slices.Repeat([]bool{true}, len(lists))
	second[strings.LastIndexByte(lists, '{')] = false
	if words, _ := expandBraces([]byte(lists), second); !slices.Equal(words, []string{"axy{cc,d}", "bxy{cc,d}"}) {
		t.Errorf("with the second list quoted: %q", words)
	}
	// Each mark of a list counts only unquoted.
	const list = "x{a,b}"
	for i := range list {
		plain := slices.Repeat([]bool{true}, len(list))
		plain[i] = false
		if words, _ := expandBraces([]byte(list), plain); (words == nil) != strings.ContainsRune("{,}", rune(list[i])) {
			t.Errorf("with %q quoted: %q", list[i], words)
		}
	}
}

// The number of words and the work are bounded.
func TestExpandBracesIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		words int // 0: no list; -1: too many words or too much work
	}{
		"256 words":           {"{" + strings.Repeat("x,", 255) + "}", 256},
		"257 words":           {"{" + strings.Repeat("x,", 256) + "}", -1},
		"eight lists":         {strings.Repeat("{x,y}", 8), 256},
		"nine lists":          {strings.Repeat("{x,y}", 9), -1},
		"lists in lists":      {"{" + strings.Repeat("{x,y}", 8) + ",z}", -1},
		"open braces":         {strings.Repeat("{", 2000), 0},
		"too many of them":    {strings.Repeat("{", 2100), -1},
		"open, then a list":   {strings.Repeat("{", 2100) + "{x,y}", -1},
		"quoted braces":       {strings.Repeat("X", 1<<16), 0},
		"ranges":              {strings.Repeat("{1..3}", 300), 1},
		"too many of these":   {strings.Repeat("{1..3}", 3000), -1},
		"lists beside ranges": {strings.Repeat("{x,y}", 8) + strings.Repeat("{1..3}", 9000), -1},
	} {
		text := []byte(test.text)
		plain := make([]bool, len(text))
		for i, c := range text {
			plain[i] = c != 'X'
		}
		words, ok := expandBraces(bytes.ReplaceAll(text, []byte("X"), []byte("{")), plain)
		if ok != (test.words >= 0) || len(words) != max(0, test.words) {
			t.Errorf("%s: %d words, %t", name, len(words), ok)
		}
	}
}
