package cli

import (
	"strings"
	"testing"
	"unicode"
)

// groff reads bytes above 127 in another encoding, with a warning.
func TestManualPageIsASCII(t *testing.T) {
	parser, err := newParser(new(Commands))
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := (manCmd{}).Run(&page, parser); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page.String()) {
		if strings.ContainsFunc(line, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("%q", line)
		}
	}
	for text, want := range map[string]string{"…é-😀": `\&...\[u00E9]\-\[u1F600]`, `a\b`: `a\eb`} {
		if got := roff(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
