package display_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/display"
)

// A text of others stays in its line and in its quotation, and shows each character.
func TestTexts(t *testing.T) {
	for text, want := range map[string]struct{ line, quote, excerpt string }{
		"touch a":                   {`touch a`, `"touch a"`, `"touch a"`},
		"touch a\n\tb":              {`touch a\n\tb`, `"touch a\n\tb"`, `"touch a\n\tb"`},
		`a". Verified by policy. "`: {`a". Verified by policy. "`, `"a\". Verified by policy. \""`, `"a\". Verified by policy. \""`},
		`a\n`:                       {`a\n`, `"a\\n"`, `"a\\n"`},
		"a\x1b[2K\u202eb\a":         {`a\u001b[2K\u202eb\u0007`, `"a\u001b[2K\u202eb\u0007"`, `"a\u001b[2K\u202eb\u0007"`},
		"a\u00a0\u3000b  c":         {"a\u00a0\u3000b  c", `"a\u00a0\u3000b  c"`, `"a\u00a0\u3000b  c"`},
		"\u200b\ufe0f\u3164\u2800é": {`\u200b\ufe0f\u3164\u2800é`, `"\u200b\ufe0f\u3164\u2800é"`, `"\u200b\ufe0f\u3164\u2800é"`},
		"\U000e0061\xff":            {`\udb40\udc61` + "\ufffd", `"\udb40\udc61` + "\ufffd\"", `"\udb40\udc61` + "\ufffd\""},
		strings.Repeat("ä", 150):    {strings.Repeat("ä", 150), `"` + strings.Repeat("ä", 150) + `"`, `"` + strings.Repeat("ä", 100) + `"… (+50 more characters)`},
	} {
		if got := display.Line(text); got != want.line {
			t.Errorf("%q becomes the line %s, want %s", text, got, want.line)
		}
		if got := display.Quote(text); got != want.quote {
			t.Errorf("%q becomes the quotation %s, want %s", text, got, want.quote)
		}
		if got := display.Excerpt(text); got != want.excerpt {
			t.Errorf("%q becomes the excerpt %s, want %s", text, got, want.excerpt)
		}
		var back string
		if err := json.Unmarshal([]byte(display.Quote(text)), &back); err != nil || back != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("%q is read back as %q: %v", text, back, err)
		}
	}
	if got := display.Lines("a\r\n\tb\x1b\nc"); got != `a\r`+"\n    b"+`\u001b`+"\nc" {
		t.Errorf("the lines become %q", got)
	}
}

// A cut is between characters, and has a mark.
func TestClip(t *testing.T) {
	for _, test := range []struct {
		text                            string
		maxLen                          int
		start, clipped, runes, clipRune string
	}{
		{"abc", 3, "abc", "abc", "abc", "abc"},
		{"abcd", 3, "abc", "abc…", "abc", "abc…"},
		{"aäöü", 4, "aä", "aä…", "aäöü", "aäöü"},
		{"aäöü", 3, "aä", "aä…", "aäö", "aäö…"},
		{"a\U0001F600b", 4, "a", "a…", "a\U0001F600b", "a\U0001F600b"},
		{"a\U0001F600b", 5, "a\U0001F600", "a\U0001F600…", "a\U0001F600b", "a\U0001F600b"},
		{"abc", 0, "", "…", "", "…"},
		{"abc", -1, "", "…", "", "…"},
		{"", 0, "", "", "", ""},
		{"\x80\x80\x80\x80\x80\x80\x80", 6, "\x80\x80", "\x80\x80…", "\x80\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80\x80…"},
	} {
		if got := display.Start(test.text, test.maxLen); got != test.start {
			t.Errorf("the first %d bytes of %q are %q, want %q", test.maxLen, test.text, got, test.start)
		}
		if got := display.ClipTo(test.text, test.maxLen); got != test.clipped {
			t.Errorf("%q is clipped to %q, want %q", test.text, got, test.clipped)
		}
		if got := display.StartRunes(test.text, test.maxLen); got != test.runes {
			t.Errorf("the first %d characters of %q are %q, want %q", test.maxLen, test.text, got, test.runes)
		}
		if got := display.ClipRunes(test.text, test.maxLen); got != test.clipRune {
			t.Errorf("%q is clipped to the characters %q, want %q", test.text, got, test.clipRune)
		}
	}
	if long := strings.Repeat("a", 201); display.Clip(long) != long[:200]+"…" || display.Clip(long[:200]) != long[:200] {
		t.Error("Clip does not cut after 200 bytes")
	}
}

// No two texts look the same.
func TestExactTextsProperty(t *testing.T) {
	for text, want := range map[string]struct {
		exact string
		block string
	}{
		"touch a":         {`touch a`, "  | touch a"},
		"a # b\nrm c\n\n": {`"a # b\nrm c\n\n"`, "  | a # b\n  | rm c\n  | \n  | "},
		`"a"`:             {`"\"a\""`, `  | "\"a\""`},
		` grep "\n"`:      {`" grep \"\\n\""`, `  |  grep "\n"`},
		"rm -rf\u00a0/ ":  {`"rm -rf\u00a0/ "`, `  | "rm -rf\u00a0/ "`},
		"\tb":             {`"\tb"`, `  | "\tb"`},
		"":                {`""`, "  | "},
	} {
		if got := display.Exact(text); got != want.exact {
			t.Errorf("%q is shown as %s, want %s", text, got, want.exact)
		}
		if got := strings.Join(display.Block(text), "\n"); got != want.block {
			t.Errorf("%q is shown as\n%s\nwant\n%s", text, got, want.block)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \\\"n|#\n\r\t\u00a0\u2028\u200b\U000e0061")), 0, 8, -1)
		one, other := text.Draw(t, "one"), text.Draw(t, "other")
		for name, show := range map[string]func(string) string{
			"Quote": display.Quote, "Exact": display.Exact, "Block": func(s string) string { return strings.Join(display.Block(s), "\n") },
		} {
			if one != other && seen(show(one)) == seen(show(other)) {
				t.Fatalf("%s shows %q as %q", name, one, other)
			}
		}
	})
}

// The cases of testdata/display are those of the editors, too.
func TestTextsOfAllSurfaces(t *testing.T) {
	text, err := os.ReadFile("../../testdata/display/texts.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Text, Exact, Line string
			Lines             []string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("%d cases: %v", len(file.Cases), err)
	}
	for _, c := range file.Cases {
		if got := display.Exact(c.Text); got != c.Exact {
			t.Errorf("%q is shown as %s, want %s", c.Text, got, c.Exact)
		}
		if got := display.Line(c.Text); c.Line != "" && got != c.Line {
			t.Errorf("%q becomes the line %s, want %s", c.Text, got, c.Line)
		}
		want := make([]string, len(c.Lines))
		for i, line := range c.Lines {
			want[i] = "  | " + line
		}
		if got := display.Block(c.Text); len(c.Lines) > 0 && !slices.Equal(got, want) {
			t.Errorf("%q is shown as %q, want %q", c.Text, got, want)
		}
	}
}

var update = flag.Bool("update", false, "write the table of the Neovim plugin")

// The Neovim plugin has no classes of characters: it has a table of those that are escaped.
func TestTableOfNeovimIsCurrent(t *testing.T) {
	const at = "../../editors/nvim/lua/codex-bridge/lookalikes.lua"
	isEscaped := func(r rune) bool {
		return r != ' ' && (r >= 0xd800 && r < 0xe000 || display.Exact("x"+string(r)+"x") != "x"+string(r)+"x")
	}
	var ranges []string
	for r := rune(0); r <= unicode.MaxRune; r++ {
		first := r
		for r <= unicode.MaxRune && isEscaped(r) {
			r++
		}
		if r > first {
			ranges = append(ranges, fmt.Sprintf("%x-%x", first, r-1))
		}
	}
	var b strings.Builder
	b.WriteString("-- The characters that look like another one or like nothing, as ranges. Written by: go test ./bridge/display -update\nreturn [[\n")
	for row := range slices.Chunk(ranges, 12) {
		b.WriteString(strings.Join(row, " ") + "\n")
	}
	b.WriteString("]]\n")
	if *update {
		if err := os.WriteFile(at, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(at); err != nil || string(have) != b.String() {
		t.Errorf("%s is not current (%v); run go test ./bridge/display -update", at, err)
	}
}

// seen returns what a reader sees of a text: no blanks at the end of a line, and nothing of what can't be seen.
func seen(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.NewReplacer("\u200b", "", "\u00a0", " ", "\t", " ", "\r", "", "\u2028", " ").Replace(line), " ")
	}
	return strings.Join(lines, "\n")
}
